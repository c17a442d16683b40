"""One server for all clients of others, and topics of each test's own."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from certificates import Authority
from configurations import BOTH, QUIET, listener
from heliograph.client import Message, Session, connect
from heliograph.server.access.passwords import PasswordFile
from interop.amqp_peers import Connect, Peer, PeerConnection, connecting
from interop.proton_peer import Proton
from interop.rhea_peer import Rhea
from running import PATIENCE, RunningServer, servers

USER, PASSWORD = "ada", "difference engine"
_numbers = count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, every_listener: str) -> Iterator[RunningServer]:
    """A server with a listener of each kind; its buffers have room for the longest run of messages in these tests."""
    more = '[limits]\nmax_messages = 20000\n[sys_topics]\ninterval = 0.5\n[log]\nlevel = "warning"\n'
    with servers(tmp_path_factory.mktemp("interop")) as start:
        yield start(every_listener + more)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.nodeid)


# AMQP


@pytest.fixture(scope="session")
def amqp_server(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[RunningServer]:
    """A server with AMQP listeners of several kinds, and one for MQTT."""
    folder = tmp_path_factory.mktemp("amqp")
    users = PasswordFile(folder / "users")
    users.set_password(USER, PASSWORD.encode())
    users.save()
    pair = authority.issue("server", "amqp-peers")
    tls = f'client_ca = "{authority.cert}"\nclient_certificates = "optional"\n'
    config = f'{QUIET}[access]\npassword_file = "users"\n{BOTH}'
    config += listener("tls", "amqp", pair=pair, anonymous=False) + tls
    config += listener("ws", "amqp")
    config += '[[queue_manager]]\nname = "ELSEWHERE"\n[[queue_manager.queue]]\nname = "there"\n'
    with servers(folder) as start:
        yield start(config)


@pytest.fixture(scope="session")
def own_session(amqp_server: RunningServer) -> Iterator[Session]:
    """A session of our own client, with which tests prepare what they need."""
    with connect(f"amqp://127.0.0.1:{amqp_server.port_of('amqp')}") as connection, connection.session() as session:
        yield session


@pytest.fixture
def define(own_session: Session) -> Callable[..., str]:
    """Define a queue with attributes; its name."""

    def defined(name: str, **attributes: Any) -> str:
        request = Message({"name": name, **attributes}, properties={"operation": "queue-define"})
        answer = own_session.request("$management", request, timeout=PATIENCE)
        assert answer.properties["status"] == 200, answer.body
        return name

    return defined


@pytest.fixture
def queue(request: pytest.FixtureRequest, define: Callable[..., str]) -> str:
    """A queue that no other test uses."""
    return define(f"{next(_numbers)}-{request.node.originalname.removeprefix('test_')}"[:40])


@pytest.fixture(scope="session")
def rhea() -> Iterator[Rhea]:
    peer = Rhea()
    yield peer
    peer.close()


@pytest.fixture(scope="session")
def proton() -> Proton:
    return Proton()


@pytest.fixture(params=["proton", "rhea"])
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each AMQP client of others."""
    found: Peer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def connect_peer(peer: Peer, amqp_server: RunningServer) -> Iterator[Connect]:
    """Connect with the client; see `Peer.connect` for options."""
    with connecting(peer, amqp_server.port_of("amqp")) as connect:
        yield connect


@pytest.fixture
def connection(connect_peer: Connect) -> PeerConnection:
    """A connection of the client."""
    return connect_peer()
