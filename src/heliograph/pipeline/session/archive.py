"""The class archive: Spark's classes as Java has them in memory, so that a session starts in half the time.

An archive is worth nothing to any other Java or class path. Its name has a digest of both, so one that does not fit is
not found; Java checks it once more, and goes without it when in doubt.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from heliograph.pipeline.errors import PipelineError
from heliograph.pipeline.session.java import LAUNCHER, Java

# The first version that keeps classes linked, and profiles, in one file (JEP 483, 514, 515).
_FIRST_WITH_AOT_CACHE = 25


def archive_directory() -> Path:
    """Where archives are kept: with the environment that has Spark's jars, and so they go when it goes."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "class-archives"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "heliograph" / "class-archives"


def archive_of(java: Java, jars: Path, directory: Path) -> Path:
    """The file that an archive of these jars for this Java has; it need not exist."""
    kind = "aot" if java.version >= _FIRST_WITH_AOT_CACHE else "jsa"
    return directory / f"java{java.version}-{_digest(java, jars)}.{kind}"


def options_to_use(archive: Path) -> list[str]:
    """Options for Java to start with this archive, if there is one."""
    if not archive.exists():
        return []
    return [f"-XX:AOTCache={archive}" if archive.suffix == ".aot" else f"-XX:SharedArchiveFile={archive}"]


def options_to_make(archive: Path) -> list[str]:
    """Options for Java to write this archive when it ends."""
    return [f"-XX:AOTCacheOutput={archive}" if archive.suffix == ".aot" else f"-XX:ArchiveClassesAtExit={archive}"]


def make_archive(archive: Path, report: Callable[[str], None]) -> None:
    """Run a training session that leaves the archive behind, unless there is one already."""
    if archive.exists():
        report(f"class archive: {archive} is up to date")
        return
    report(f"class archive: making {archive}, once; this takes about a minute")
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_name(f"unfinished-{os.getpid()}-{archive.name}")
    try:
        _practise(unfinished)
        _forget_others(archive)
        unfinished.rename(archive)
    finally:
        unfinished.unlink(missing_ok=True)
    report(f"class archive: {archive.stat().st_size >> 20} MB")


def _practise(archive: Path) -> None:
    command = [sys.executable, "-m", "heliograph.pipeline.session.cds_training", str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    if done.returncode or not archive.exists():
        raise PipelineError(
            f"no class archive was made; the session for it said: {done.stderr.strip() or done.stdout.strip()}"
        )


def _forget_others(archive: Path) -> None:
    """Archives of the same Java for other jars are of no use any more, and large."""
    prefix, _, _ = archive.name.partition("-")
    for other in archive.parent.glob(f"{prefix}-*"):
        other.unlink(missing_ok=True)


def _digest(java: Java, jars: Path) -> str:
    """Java itself compares names, sizes and times of jars, too. Our launcher decides in which order they are."""
    digest = hashlib.sha256(f"{java.home}\n{java.release}\n{jars}\n".encode() + LAUNCHER.read_bytes())
    for jar in sorted(os.scandir(jars), key=lambda entry: entry.name):
        status = jar.stat()
        digest.update(f"{jar.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
