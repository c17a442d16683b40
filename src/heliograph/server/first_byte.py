"""What a client on a TLS listener begins with: TLS, or its protocol in the clear because somebody forgot to say TLS."""

import asyncio
import socket

_TLS_HANDSHAKE = 0x16


async def begins_with_tls(sock: socket.socket, patience: float) -> bool:
    """Whether the client's first byte, which stays in the socket, is that of a TLS handshake.

    EOFError if it leaves without a byte, TimeoutError if it sends none in so many seconds.
    """
    async with asyncio.timeout(patience):
        await _readable(sock)
    first = sock.recv(1, socket.MSG_PEEK)
    if not first:
        raise EOFError
    return first[0] == _TLS_HANDSHAKE


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = loop.create_future()

    def tell() -> None:
        loop.remove_reader(sock)
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(sock, tell)
    try:
        await readable
    finally:
        loop.remove_reader(sock)
