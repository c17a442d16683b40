"""What it takes at least to bring messages from files to another process over the network of this machine.

One process has the kernel send the files of a log, another one receives the bytes and does nothing with them. Whoever
reads a stream as from another machine has that to do, and reading besides.
"""

import os
import socket
import time
from pathlib import Path

from heliograph.lab.spark.rows import Run

_AT_ONCE = 1 << 20


def bytes_alone(data: Path, size: int, count: int) -> Run:
    """Send as many bytes as so many messages of a size have, out of the log in this directory."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        receiver = os.fork()
        if not receiver:
            os._exit(_receive(server.getsockname(), size * count))
        sock, _ = server.accept()
    started, before = time.perf_counter(), time.process_time()
    with sock:
        _send(sock, data, size * count)
        sent = time.process_time() - before
        _, status, used = os.wait4(receiver, 0)
    seconds = time.perf_counter() - started
    if status:
        raise RuntimeError("the bytes that were sent did not all come")
    return Run(count, seconds, (used.ru_utime + used.ru_stime) / count * 1e6, sent / count * 1e6, 0.0)


def _send(sock: socket.socket, data: Path, left: int) -> None:
    files = sorted(data.glob("*.log"), key=lambda path: path.stat().st_size)
    with files[-1].open("rb") as largest:
        size = os.fstat(largest.fileno()).st_size
        while left:
            at = 0
            while at < size and left:
                done = os.sendfile(sock.fileno(), largest.fileno(), at, min(_AT_ONCE, size - at, left))
                at += done
                left -= done


def _receive(address: tuple[str, int], left: int) -> int:
    """Take so many bytes; 0 if they have come."""
    memory = memoryview(bytearray(_AT_ONCE))
    with socket.create_connection(address) as sock:
        while left and (more := sock.recv_into(memory)):
            left -= more
    return int(left > 0)
