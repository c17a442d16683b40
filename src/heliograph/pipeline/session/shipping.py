"""Our package for the executors of a cluster, which have Spark, Python and pyarrow, but not us.

Each package goes as an archive that executors unpack beside their files, a place that Python's workers look for modules
in. So executors run the code that the driver runs, whatever is installed there. Archives are unpacked rather than
imported as zips, because some packages have parts in C; where such a part does not fit the executors' platform, the
package goes on without it.
"""

import importlib.util
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

# What reading, writing and flows import. What is not installed here is not used here, so it is left out.
PACKAGES = (
    "heliograph",
    "google_crc32c",
    "ebcdic",
    "elementpath",
    "h11",
    "psycopg",
    "psycopg_binary",
    "sqlalchemy",
    "typing_extensions",
    "xmlschema",
    "yaml",
)
_OF_QUERIES = "streaming_job"
"""The folder in which Spark has those Python processes look for files that plan the batches of a streaming query. They
run beside the driver, and with the Python of executors, which does not have our package here either."""


def ship_packages(spark: SparkSession) -> None:
    """Give the executors of this session all `PACKAGES`; they fetch them with their first task."""
    # Executors fetch archives from where they are, at any time; Spark removes this directory when the session ends.
    root = Path(SparkFiles.getRootDirectory())
    directory = Path(tempfile.mkdtemp(dir=root))
    for name in PACKAGES:
        for part in _parts(name):
            if part.is_dir():
                spark.sparkContext.addArchive(f"{_pack(part, directory)}#{part.name}")
            else:
                spark.sparkContext.addPyFile(str(part))
    with suppress(FileExistsError):  # of this session, registered before
        (root / _OF_QUERIES).symlink_to(root, target_is_directory=True)


def _parts(name: str) -> Iterator[Path]:
    """A package's folder and that of its C libraries, or the file of a module."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return
    file = Path(found.origin)
    if file.name != "__init__.py":
        yield file
        return
    yield file.parent
    libraries = file.parent.with_name(f"{name}.libs")
    if libraries.is_dir():
        yield libraries


def _pack(folder: Path, directory: Path) -> Path:
    packed = directory / f"{folder.name}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(folder))
    return packed
