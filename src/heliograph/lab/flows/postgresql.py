"""A PostgreSQL server for the coordinated tests: a cluster in a temporary folder, reached by a socket there."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab.machine import on_core

_PROGRAMS = Path("/usr/lib/postgresql")
_SETTINGS = {
    "listen_addresses": "",
    "max_prepared_transactions": "20",
    "shared_buffers": "64MB",
    "max_connections": "40",
}
_PATIENCE = 20.0


def is_installed() -> bool:
    """Whether the tests with PostgreSQL can be run."""
    return _program("initdb") is not None and _program("postgres") is not None


def _program(name: str) -> Path | None:
    """Debian keeps the server's programs outside of PATH."""
    if found := shutil.which(name):
        return Path(found)
    versions = sorted(_PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return versions[-1] if versions else None


def _unprivileged() -> tuple[int, int] | None:
    """Whom to run it as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for user in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(user)
            return entry.pw_uid, entry.pw_gid
    raise Problem("PostgreSQL does not run as root, and there is no user postgres or nobody")


@contextmanager
def running_postgresql(core: int | None) -> Iterator[tuple[str, int]]:
    """The URL of a server, and its process."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        raise Problem("PostgreSQL is not installed (looked for initdb and postgres)")
    owner = _unprivileged()
    before = [] if owner is None else ["setpriv", f"--reuid={owner[0]}", f"--regid={owner[1]}", "--clear-groups", "--"]
    # The name of a socket must be short, and others must be able to reach it.
    folder = Path(tempfile.mkdtemp(prefix="helio-pg-"))
    try:
        if owner is not None:
            os.chown(folder, *owner)
        data = folder / "data"
        command = [*before, str(initdb), "-D", str(data), "-U", "flow", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        with on_core(core):
            process = _start([*before, str(postgres), "-D", str(data), "-k", str(folder)], folder)
        try:
            yield f"postgresql://flow@/postgres?host={folder}", process.pid
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=_PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    process = subprocess.Popen([*command, *settings], stderr=subprocess.PIPE, cwd=folder, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "ready to accept connections" in line:
            return process
    process.wait()
    raise Problem(f"PostgreSQL did not start: {''.join(said)[-500:]}")
