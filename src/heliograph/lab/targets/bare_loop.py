"""A baseline that is no broker: the least that one Python process must do with a packet.

It waits with epoll, reads each client that has sent something, and writes all received bytes to the one subscriber.
After the handshakes it does not parse packets. So no single-threaded server in Python can cost less, if each read
brings one packet.
"""

import select
import socket
import sys

from heliograph import __version__
from heliograph.lab.machine import HOST
from heliograph.lab.targets.target import Target, TargetSetup

_CONNECT, _SUBSCRIBE = 0x10, 0x82
_CONNACK = b"\x20\x02\x00\x00"


class BareLoop(Target):
    """A baseline, not a broker: the least that one Python process must do; for cases with one packet per read."""

    name = "bare-loop"
    only_if_named = True

    def version(self) -> str | None:
        """It needs epoll."""
        return __version__ if hasattr(select, "epoll") else None

    def command(self, setup: TargetSetup) -> list[str]:
        """It has no configuration."""
        return [sys.executable, "-m", "heliograph.lab.targets.bare_loop", str(setup.port)]


def serve(port: int) -> None:
    """Run until the process is ended."""
    listening = socket.create_server((HOST, port), backlog=4096)
    epoll = select.epoll()
    epoll.register(listening, select.EPOLLIN)
    clients: dict[int, socket.socket] = {}
    subscriber = listening
    while True:
        gathered: list[bytes] = []
        for fd, _ in epoll.poll():
            client = clients.get(fd)
            if client is None:
                client = listening.accept()[0]
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                clients[client.fileno()] = client
                epoll.register(client, select.EPOLLIN)
                continue
            data = client.recv(4096)
            if not data:
                del clients[fd]
                client.close()
            elif data[0] == _CONNECT:
                client.sendall(_CONNACK)
            elif data[0] == _SUBSCRIBE:
                subscriber = client
                client.sendall(b"\x90\x03" + data[2:4] + b"\x00")
            else:
                gathered.append(data)
        if gathered:
            subscriber.sendall(b"".join(gathered))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
