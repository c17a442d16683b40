"""The least that one process must do to forward and store messages: read, write to a file, force it, send.

There is no broker: bytes from one socket go to a file and to another socket, in blocks, without being parsed.
Large payloads cannot be stored for less CPU than this, in any language. See `helio bench copy`.
"""

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from heliograph.lab.machine import Cores, on_core, split_cores, work_folder

_BYTES = 1 << 30
_BLOCK = 256 << 10
_FORCED_EVERY = 4 << 20
_FILE_SIZE = 64 << 20
_PAYLOAD = 4096


def _pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
        return one, other


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system


class _Files:
    """Files that follow each other, of which a few are kept, as a log does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._descriptor = -1
        self._size = _FILE_SIZE
        self._unforced = 0

    def write(self, data: bytes) -> None:
        if self._size >= _FILE_SIZE:
            self._next()
        os.pwrite(self._descriptor, data, self._size)
        self._size += len(data)
        self._unforced += len(data)
        if self._unforced >= _FORCED_EVERY:
            os.fdatasync(self._descriptor)
            self._unforced = 0

    def _next(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._number += 1
        self._size = 0
        self._descriptor = os.open(self._folder / str(self._number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        (self._folder / str(self._number - 3)).unlink(missing_ok=True)


def _spend(core: int | None, work: Callable[[], None]) -> None:
    """Do something in a process of its own."""
    if os.fork() == 0:
        with on_core(core):
            work()
        os._exit(0)


def _send(to: socket.socket) -> None:
    block = os.urandom(_BLOCK)
    for _ in range(_BYTES // _BLOCK):
        to.sendall(block)


def _take(source: socket.socket) -> None:
    buffer, left = bytearray(_BLOCK), _BYTES
    while left:
        left -= source.recv_into(buffer)


def measure(cores: Cores, files: _Files | None) -> float:
    """CPU microseconds for 4 KB that are forwarded, and stored if there are files."""
    generator, source = _pair()
    sink, reader = _pair()
    _spend(cores.generator, lambda: _send(generator))
    _spend(cores.generator, lambda: _take(reader))
    with on_core(cores.broker):
        before, left = _cpu(), _BYTES
        while left:
            data = os.read(source.fileno(), _BLOCK)
            left -= len(data)
            if files is not None:
                files.write(data)
            sink.sendall(data)
        spent = _cpu() - before
    for one in (generator, source, sink, reader):
        one.close()
    os.wait()
    os.wait()
    return spent / (_BYTES / _PAYLOAD) * 1e6


def measure_copying() -> None:
    """Print both."""
    with split_cores() as cores, tempfile.TemporaryDirectory(dir=work_folder()) as name:
        for _ in range(3):
            passed = measure(cores, None)
            stored = measure(cores, _Files(Path(name)))
            print(f"4 KB passed on: {passed:.2f} us of CPU; stored and passed on: {stored:.2f} us")
