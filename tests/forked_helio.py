"""`helio` processes forked from one that has imported everything: an interpreter of its own would spend half a second
of CPU on imports for each of a thousand servers that the tests start.

Run as a program, this module is that one: it imports what a server needs, then forks for each request that comes
through its socket. What it forks becomes a child of the tests' process (which adopts orphans), so that it is waited
for as any other.
"""

import array
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
_LONGEST_REQUEST = 1 << 20


class ForkedProcess:
    """What tests need of subprocess.Popen, for a process that somebody else has started."""

    def __init__(self, pid: int, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.pid = pid
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status if it has ended; minus the signal that ended it."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, once it has ended."""
        if self.poll() is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                ended, _, _ = select.select([descriptor], [], [], timeout)
            finally:
                os.close(descriptor)
            if not ended:
                raise subprocess.TimeoutExpired("helio", timeout or 0.0)
        status = self.poll()
        assert status is not None
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Parent:
    """The process that has imported everything; one for each process that runs tests."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ctypes.CDLL(None, use_errno=True).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve()), str(theirs.fileno())],
                env=dict(env),
                pass_fds=[theirs.fileno()],
                # Pipes, so that what it forks writes to a pipe as it would if it had been started with one.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )

    def start(self, words: Sequence[str], env: Mapping[str, str]) -> ForkedProcess:
        """A `helio` with these words, whose output can be read."""
        out, err = os.pipe(), os.pipe()
        request = json.dumps({"words": list(words), "env": dict(env), "directory": os.getcwd()}).encode()
        try:
            rights = array.array("i", [out[1], err[1]])
            self._ours.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            pid = int(self._ours.recv(64))
        finally:
            os.close(out[1])
            os.close(err[1])
        return ForkedProcess(pid, os.fdopen(out[0], "rb"), os.fdopen(err[0], "rb"))


def _fork_on_request(requests: socket.socket) -> list[str]:
    """Fork for each request. Returns in the forked processes, with their words; never in the one that forks."""
    while True:
        request, rights, _, _ = socket.recv_fds(requests, _LONGEST_REQUEST, 2)
        if not request:
            sys.exit(0)
        if middle := os.fork():
            for descriptor in rights:
                os.close(descriptor)
            os.waitpid(middle, 0)
            continue
        # The one in the middle ends at once, so that its child is adopted by the tests' process.
        if child := os.fork():
            requests.send(str(child).encode())
            os._exit(0)
        requests.close()
        asked = json.loads(request)
        for number, descriptor in enumerate(rights, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["directory"])
        words: list[str] = asked["words"]
        return words


def _become_helio() -> int:
    import heliograph.cli.serve
    import heliograph.server.process  # noqa: F401
    from heliograph.cli.main import main

    words = _fork_on_request(socket.socket(fileno=int(sys.argv[1])))
    sys.argv = ["helio", *words]
    return main(words)


_parents: dict[int, Parent] = {}


def start_helio(words: Sequence[str], env: Mapping[str, str]) -> ForkedProcess:
    """A `helio` process with these words and this environment."""
    if os.getpid() not in _parents:
        _parents[os.getpid()] = Parent(env)
    return _parents[os.getpid()].start(words, env)


if __name__ == "__main__":
    sys.exit(_become_helio())
