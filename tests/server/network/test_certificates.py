"""TLS as a client meets it: real handshakes over 127.0.0.1."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from certificates import Authority, Pair
from heliograph.errors import Problem
from heliograph.server.config.schema import ClientCertificates, ListenerConfig, ListenerKind, TlsVersion
from heliograph.server.network.certificates import common_name, reload, tls_context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def listener(authority: Authority) -> ListenerConfig:
    pair = authority.issue("server", "server")
    return ListenerConfig(kind=ListenerKind.TLS, cert=pair.cert, key=pair.key)


def demanding(listener: ListenerConfig, authority: Authority, how: ClientCertificates) -> ListenerConfig:
    return replace(listener, client_ca=authority.cert, client_certificates=how)


def client(authority: Authority, own: Pair | None = None, alpn: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.cert)
    if own:
        context.load_cert_chain(own.cert, own.key)
    if alpn:
        context.set_alpn_protocols([alpn])
    return context


class TlsServer:
    """Answers each connection with the common name of the client's certificate; echoes lines after that."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{common_name(writer.get_extra_info('peercert'))}\n".encode())
        async for line in reader:
            writer.write(line)
        writer.close()


class TlsClient:
    """One connection to a TlsServer."""

    def __init__(self, server: TlsServer, context: ssl.SSLContext) -> None:
        self._server, self._context = server, context

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._server.port, ssl=self._context)
        self.tls: ssl.SSLObject = self.writer.get_extra_info("ssl_object")
        self.greeting = (await self.reader.readline()).decode().strip()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    @property
    def server_name(self) -> Any:
        return common_name(self.tls.getpeercert())

    async def echo(self, line: bytes) -> bytes:
        self.writer.write(line)
        return await self.reader.readline()


async def greeting(context: ssl.SSLContext, client_context: ssl.SSLContext) -> str:
    async with TlsServer(context) as server, TlsClient(server, client_context) as connection:
        return connection.greeting


def test_a_client_without_certificate_is_served_when_none_is_asked_for(authority, listener) -> None:
    assert asyncio.run(greeting(tls_context(listener), client(authority))) == "None"


@pytest.mark.parametrize("how", [ClientCertificates.OPTIONAL, ClientCertificates.REQUIRED])
def test_the_common_name_of_a_client_certificate_is_known(authority, listener, how) -> None:
    context = tls_context(demanding(listener, authority, how))
    device = authority.issue("device-7", "device")
    assert asyncio.run(greeting(context, client(authority, device))) == "device-7"


def test_a_client_certificate_without_a_common_name_names_nobody(authority, listener) -> None:
    context = tls_context(demanding(listener, authority, ClientCertificates.REQUIRED))
    assert asyncio.run(greeting(context, client(authority, authority.issue(None, "device")))) == "None"


def test_an_optional_client_certificate_may_be_missing(authority, listener) -> None:
    context = tls_context(demanding(listener, authority, ClientCertificates.OPTIONAL))
    assert asyncio.run(greeting(context, client(authority))) == "None"


def refused(context: ssl.SSLContext, client_context: ssl.SSLContext) -> bool:
    """Whether the server turns the client down. With TLS 1.3 a client learns it from its first read."""
    try:
        return asyncio.run(greeting(context, client_context)) == ""
    except (ssl.SSLError, ConnectionError):
        return True


def test_a_required_client_certificate_may_not_be_missing(authority, listener) -> None:
    context = tls_context(demanding(listener, authority, ClientCertificates.REQUIRED))
    assert refused(context, client(authority))


def test_a_client_certificate_of_another_authority_is_refused(authority, listener, tmp_path) -> None:
    context = tls_context(demanding(listener, authority, ClientCertificates.OPTIONAL))
    stranger = Authority(tmp_path, "Someone Else").issue("device-7", "stranger")
    assert refused(context, client(authority, stranger))


def test_versions_below_the_least_one_are_refused(authority, listener) -> None:
    context = tls_context(replace(listener, tls_min=TlsVersion.V1_3))
    old = client(authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert refused(context, old)
    assert not refused(tls_context(listener), old)


async def agreed_protocol(context: ssl.SSLContext, client_context: ssl.SSLContext) -> str | None:
    async with TlsServer(context) as server, TlsClient(server, client_context) as connection:
        return connection.tls.selected_alpn_protocol()


def test_mqtt_is_agreed_on_by_name(authority, listener) -> None:
    assert asyncio.run(agreed_protocol(tls_context(listener), client(authority, alpn="mqtt"))) == "mqtt"


def test_a_client_that_offers_other_protocols_is_served_all_the_same(authority, listener) -> None:
    assert asyncio.run(agreed_protocol(tls_context(listener), client(authority, alpn="x-amzn-mqtt-ca"))) is None


def test_a_websocket_is_http(authority, listener) -> None:
    context = tls_context(replace(listener, kind=ListenerKind.WSS))
    assert asyncio.run(agreed_protocol(context, client(authority, alpn="http/1.1"))) == "http/1.1"


def test_a_renewed_certificate_is_for_new_handshakes_and_old_connections_live_on(authority, listener) -> None:
    async def scenario() -> None:
        context = tls_context(listener)
        async with TlsServer(context) as server, TlsClient(server, client(authority)) as old:
            assert old.server_name == "server"
            authority.issue("renewed", "server")
            reload(context, listener)
            async with TlsClient(server, client(authority)) as new:
                assert new.server_name == "renewed"
            assert await old.echo(b"still here\n") == b"still here\n"

    asyncio.run(scenario())


def test_a_reload_applies_who_must_show_a_certificate(authority, listener) -> None:
    context = tls_context(listener)
    reload(context, demanding(listener, authority, ClientCertificates.REQUIRED))
    assert refused(context, client(authority))


@pytest.mark.parametrize(
    ("broken", "mistake"), [("certificate", "expected a certificate in"), ("key of another", "key values mismatch")]
)
def test_a_broken_new_pair_leaves_the_old_one_in_force(authority, listener, broken, mistake) -> None:
    async def scenario() -> None:
        context = tls_context(listener)
        if broken == "certificate":
            listener.cert.write_text("nonsense")
        else:
            listener.key.write_bytes(authority.issue("other", "other").key.read_bytes())
        with pytest.raises(Problem, match=mistake):
            reload(context, listener)
        async with TlsServer(context) as server, TlsClient(server, client(authority)) as connection:
            assert connection.server_name == "server"

    asyncio.run(scenario())


def test_a_key_with_a_passphrase_is_a_problem_and_no_prompt(authority, listener) -> None:
    locked = authority.issue("server", "locked", passphrase=b"secret")
    with pytest.raises(Problem, match="expected a private key without a passphrase"):
        tls_context(replace(listener, cert=locked.cert, key=locked.key))


def test_a_file_without_authorities_is_a_problem(authority, listener, tmp_path) -> None:
    empty = tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(Problem, match=r"expected certificates of authorities in .*empty\.pem"):
        tls_context(replace(listener, client_ca=empty, client_certificates=ClientCertificates.REQUIRED))


def test_no_certificate_has_no_common_name() -> None:
    assert common_name(None) is None
    assert common_name({}) is None
