"""A real PostgreSQL for tests: a cluster of its own in a temporary folder, reached by a socket in that folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAMS = Path("/usr/lib/postgresql")
SETTINGS = {
    "listen_addresses": "",
    "max_prepared_transactions": "20",
    "shared_buffers": "16MB",
    "max_connections": "40",
}


def _program(name: str) -> Path | None:
    found = shutil.which(name)
    if found:
        return Path(found)
    versions = sorted(PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return versions[-1] if versions else None


def _unprivileged() -> list[str]:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return []
    user = next(name for name in ("postgres", "nobody") if _known(name))
    entry = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--"]


def _known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


class PostgresqlServer:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.url = f"postgresql://flow@/postgres?host={folder}"
        self._folder = folder
        self._command = command
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, cwd=self._folder, text=True)
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if "ready to accept connections" in line:
                return
        raise AssertionError("PostgreSQL did not start:\n" + "".join(said))

    def stop(self) -> None:
        """At once, for those who are connected, too."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=20)


@contextmanager
def running_postgresql() -> Iterator[PostgresqlServer]:
    """A server that runs as long as the block; skips the test where PostgreSQL is not installed."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed, and these tests must not be skipped here")
        pytest.skip("PostgreSQL is not installed (looked for initdb and postgres)")
    folder = Path(tempfile.mkdtemp(prefix="helio-pg-", dir="/tmp"))
    before = _unprivileged()
    try:
        if before:
            uid, gid = int(before[1].partition("=")[2]), int(before[2].partition("=")[2])
            os.chown(folder, uid, gid)
        data = folder / "data"
        command = [*before, str(initdb), "-D", str(data), "-U", "flow", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        server = PostgresqlServer(folder, [*before, str(postgres), "-D", str(data), "-k", str(folder), "-F", *settings])
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
