"""`helio` processes forked from one that has imported everything: an interpreter of its own would spend half a second
of CPU on imports for each of a thousand servers that the tests start.

Run as a program, this module is that one: it imports what a server needs, then forks for each request that comes
through its socket, and says with which status its children have ended.
"""

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_LONGEST_REQUEST = 1 << 20


class ForkedProcess:
    """What tests need of subprocess.Popen, for a child of the process that forks."""

    def __init__(self, parent: "Parent", pid: int, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.pid = pid
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None
        self._parent = parent

    def poll(self) -> int | None:
        """The exit status if it has ended; minus the signal that ended it."""
        return self._await(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, once it has ended."""
        status = self._await(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("helio", timeout or 0.0)
        return status

    def _await(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            # It stays a zombie until its parent is asked, so this cannot be somebody else's number.
            descriptor = os.pidfd_open(self.pid)
            try:
                ended, _, _ = select.select([descriptor], [], [], timeout)
            finally:
                os.close(descriptor)
            if ended:
                self.returncode = self._parent.status_of(self.pid)
        return self.returncode

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
        self._turn = threading.Lock()
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
        request = {"words": list(words), "env": dict(env), "directory": os.getcwd()}
        try:
            pid = self._ask(request, array.array("i", [out[1], err[1]]))
        finally:
            os.close(out[1])
            os.close(err[1])
        return ForkedProcess(self, pid, os.fdopen(out[0], "rb"), os.fdopen(err[0], "rb"))

    def status_of(self, pid: int) -> int:
        """The exit status of a process that has ended. It can be asked for once."""
        return self._ask({"ended": pid})

    def _ask(self, request: Mapping[str, object], rights: Sequence[int] = ()) -> int:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if rights else []
        with self._turn:
            self._ours.sendmsg([json.dumps(request).encode()], ancillary)
            return int(self._ours.recv(64))


def _fork_on_request(requests: socket.socket) -> list[str]:
    """Fork for each request. Returns in the forked processes, with their words; never in the one that forks."""
    while True:
        request, rights, _, _ = socket.recv_fds(requests, _LONGEST_REQUEST, 2)
        if not request:
            sys.exit(0)
        asked = json.loads(request)
        if "ended" in asked:
            _, status = os.waitpid(asked["ended"], 0)
            requests.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        if child := os.fork():
            for descriptor in rights:
                os.close(descriptor)
            requests.send(str(child).encode())
            continue
        requests.close()
        for number, descriptor in enumerate(rights, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["directory"])
        words: list[str] = asked["words"]
        return words


def _become_helio() -> int:
    import heliograph.cli.server.serve
    import heliograph.server.process  # noqa: F401
    from heliograph.cli.main import main

    words = _fork_on_request(socket.socket(fileno=int(sys.argv[1])))
    sys.argv = ["helio", *words]
    return main(words)


_parents: dict[int, Parent] = {}


def start_helio(words: Sequence[str], env: Mapping[str, str], usual: Mapping[str, str]) -> ForkedProcess:
    """A `helio` process with these words and this environment; `usual` is the one that the interpreter starts in."""
    if os.getpid() not in _parents:
        _parents[os.getpid()] = Parent(usual)
    return _parents[os.getpid()].start(words, env)


if __name__ == "__main__":
    sys.exit(_become_helio())
