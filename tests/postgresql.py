"""A real PostgreSQL for tests: a cluster of its own in a temporary folder, reached by a socket in that folder."""

import os
import pwd
import shutil
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


@contextmanager
def running_postgresql() -> Iterator[str]:
    """The URL of a server that runs as long as the block; skips the test where PostgreSQL is not installed."""
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
        with _server(before, postgres, folder, data):
            yield f"postgresql://flow@/postgres?host={folder}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _server(before: list[str], postgres: Path, folder: Path, data: Path) -> Iterator[None]:
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    process = subprocess.Popen(
        [*before, str(postgres), "-D", str(data), "-k", str(folder), "-F", *settings],
        stderr=subprocess.PIPE,
        cwd=folder,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if "ready to accept connections" in line:
                break
        else:
            raise AssertionError("PostgreSQL did not start:\n" + "".join(said))
        yield
    finally:
        process.send_signal(2)
        process.communicate(timeout=20)
