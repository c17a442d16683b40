"""A PostgreSQL server of our own: a cluster in a temporary folder, reached by a socket in that folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from heliograph.lab.errors import MeasurementFailed, TargetNotInstalled
from heliograph.lab.machine import on_core

_PROGRAMS = Path("/usr/lib/postgresql")
_SETTINGS = {
    "listen_addresses": "",
    "max_prepared_transactions": "20",
    "shared_buffers": "64MB",
    "max_connections": "40",
    "log_checkpoints": "off",  # its log is not read once it is ready
}
_PATIENCE = 20.0
MISSING = "PostgreSQL or its driver is not installed (looked for initdb, postgres and psycopg)"


def is_installed() -> bool:
    """Whether the tests with PostgreSQL can be run."""
    driver = find_spec("psycopg")
    return driver is not None and _program("initdb") is not None and _program("postgres") is not None


def _program(name: str) -> Path | None:
    """Debian keeps the server's programs outside of PATH."""
    if found := shutil.which(name):
        return Path(found)
    versions = sorted(_PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return versions[-1] if versions else None


def _unprivileged() -> tuple[int, int] | None:
    """The user to run it as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for user in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(user)
            return entry.pw_uid, entry.pw_gid
    raise TargetNotInstalled("PostgreSQL does not run as root, and there is no user postgres or nobody")


class PostgresqlServer:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path, command: list[str], core: int | None) -> None:
        self.url = f"postgresql://flow@/postgres?host={folder}"
        self._folder = folder
        self._command = command
        self._core = core
        self.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with on_core(self._core):
            self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, cwd=self._folder, text=True)
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if "ready to accept connections" in line:
                return
        self._process.wait()
        raise MeasurementFailed(f"PostgreSQL did not start: {''.join(said)[-500:]}")

    def stop(self) -> None:
        """Stop it at once, without waiting for connected clients."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=_PATIENCE)


@contextmanager
def running_postgresql(core: int | None = None, *, safe: bool = True) -> Iterator[PostgresqlServer]:
    """A server; it forces what it writes to the disk, unless that need not be safe."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        raise TargetNotInstalled(MISSING)
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
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        without_sync = [] if safe else ["-F"]
        server = PostgresqlServer(
            folder, [*before, str(postgres), "-D", str(data), "-k", str(folder), *without_sync, *settings], core
        )
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
