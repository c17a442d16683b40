"""Listening sockets."""

import asyncio
import socket

from heliograph.server.network.accepting import tcp_sockets


def test_what_is_written_to_an_accepted_client_leaves_at_once() -> None:
    listening = asyncio.run(tcp_sockets("127.0.0.1", 0))[0]
    with listening, socket.create_connection(listening.getsockname()):
        listening.setblocking(True)
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
