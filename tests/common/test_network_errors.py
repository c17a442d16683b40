"""What went wrong on the network, as a sentence."""

import asyncio
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress

import pytest

from certificates import Authority
from heliograph.common.network_errors import network_error_text


def failure(action: Callable[[], object]) -> Exception:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - which one it is, is the question
        action()
    return caught.value


def test_nobody_listens() -> None:
    told = "connection refused: nothing listens on 127.0.0.1:1"
    assert network_error_text(failure(lambda: socket.create_connection(("127.0.0.1", 1))), "127.0.0.1:1") == told
    error = failure(lambda: urllib.request.urlopen("http://127.0.0.1:1/"))
    assert isinstance(error, urllib.error.URLError)
    assert network_error_text(error, "127.0.0.1:1") == told


def test_a_name_with_several_addresses() -> None:
    error = OSError(
        "Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 111] Connect call ..."
    )
    assert network_error_text(error, "localhost:1") == "connection refused: nothing listens on localhost:1"


def test_a_name_that_is_none() -> None:
    error = failure(lambda: socket.create_connection(("no-such-host.invalid", 1883)))
    assert network_error_text(error, "no-such-host.invalid:1883").startswith(
        "there is no host of the name in no-such-host.inv"
    )


def test_others() -> None:
    assert network_error_text(TimeoutError(), "a:1") == "a:1 did not answer in time"
    assert (
        network_error_text(ConnectionResetError(104, "Connection reset by peer"), "a:1")
        == "the other side cut the connection"
    )
    assert network_error_text(OSError(23, "x"), "a:1") == "too many open files in system"
    assert network_error_text(ConnectionError("the answer ends early"), "a:1") == "the answer ends early"
    assert network_error_text(ConnectionError(), "a:1") == "ConnectionError"


def handshake(serve: Callable[[socket.socket], object], context: ssl.SSLContext) -> str:
    """What a TLS client is told about a server that does something else."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with listening.accept()[0] as other, suppress(OSError):
                other.recv(4096)
                serve(other)

        thread = threading.Thread(target=answer)
        thread.start()
        with socket.create_connection(listening.getsockname()) as plain:
            error = failure(lambda: context.wrap_socket(plain, server_hostname="localhost"))
        thread.join()
    return network_error_text(error, "localhost:1")


def test_a_server_without_tls() -> None:
    context = ssl.create_default_context()
    plain = handshake(lambda other: other.sendall(b"HTTP/1.1 400 Bad Request"), context)
    assert plain == "the other side does not speak TLS on this port"
    silent = handshake(lambda other: other.shutdown(socket.SHUT_RDWR), context)
    assert silent.startswith("the other side ended the TLS handshake; it may not speak TLS on this port")


def test_a_certificate_of_nobody_we_know(authority: Authority) -> None:
    pair = authority.issue("server", "network-errors")
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(pair.cert, pair.key)

    async def attempt() -> Exception:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=own)
        async with server:
            address = server.sockets[0].getsockname()
            try:
                await asyncio.open_connection(*address, ssl=ssl.create_default_context(), server_hostname="localhost")
            except OSError as error:
                return error
        raise AssertionError("the certificate was accepted")

    assert network_error_text(asyncio.run(attempt()), "a:1").startswith("certificate not accepted: ")
