"""Protocol headers and SASL, both roles."""

import pytest

from amqp.pair import Pair, Side
from heliograph.amqp import Authenticate, Closed, Credentials, Opened, Options
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import AMQP_HEADER, SASL_HEADER, TLS_HEADER, amqp_frame, sasl_frame
from heliograph.amqp.codec.performatives import Open, SaslCode, SaslInit, SaslMechanisms, SaslOutcome, SaslResponse


def server(*mechanisms):
    side = Side(Options("server", mechanisms=mechanisms), server=True)
    side.answers[Authenticate] = lambda _: None
    return side


def feed(side, data):
    side.handle(side.connection.receive(data, 0.0))
    return side.take_output()


@pytest.mark.parametrize(
    ("credentials", "asked"),
    [
        (Credentials("ANONYMOUS"), Authenticate("ANONYMOUS", "", None)),
        (Credentials("PLAIN", "fred", "secret"), Authenticate("PLAIN", "fred", "secret")),
        (Credentials("EXTERNAL"), Authenticate("EXTERNAL", "", None)),
    ],
)
def test_a_client_says_who_it_is_and_is_let_in(credentials, asked):
    pair = Pair(
        Options("client", credentials=credentials), Options("server", mechanisms=("ANONYMOUS", "PLAIN", "EXTERNAL"))
    )
    pair.client.connection.open()
    pair.run()
    assert pair.server.of(Authenticate) == [asked]
    assert pair.server.last(Opened).open.container_id == "client"
    assert pair.client.last(Opened).open.container_id == "server"


def test_a_client_that_is_not_let_in_learns_why():
    pair = Pair(
        Options("client", credentials=Credentials("PLAIN", "fred", "wrong")), Options("server", mechanisms=("PLAIN",))
    )
    pair.server.answers[Authenticate] = lambda _: pair.server.handle(
        pair.server.connection.authenticated(False, "no such user")
    )
    pair.client.connection.open()
    pair.run()
    for side in (pair.client, pair.server):
        error = side.last(Closed).error
        assert error.condition == "amqp:unauthorized-access"
        assert "no such user" in error.description
        assert side.connection.gone


def test_the_answer_may_come_later_and_nothing_is_lost_meanwhile():
    side = server("PLAIN")
    init = sasl_frame(SaslInit("PLAIN", b"\0fred\0secret").encoded())
    early = SASL_HEADER + init + AMQP_HEADER + amqp_frame(0, Open("eager").encoded())
    for at in range(len(early)):
        feed(side, early[at : at + 1])
    assert side.events == [Authenticate("PLAIN", "fred", "secret")]
    side.handle(side.connection.authenticated(True))
    assert side.last(Opened).open.container_id == "eager"


def test_a_client_cannot_fill_memory_before_it_is_let_in():
    side = server("PLAIN")
    feed(side, SASL_HEADER + sasl_frame(SaslInit("PLAIN", b"\0fred\0secret").encoded()))
    for _ in range(20):
        feed(side, bytes(10_000))
    assert side.last(Closed).error.condition == "amqp:resource-limit-exceeded"


def test_the_server_names_its_mechanisms():
    data = feed(server("PLAIN", "EXTERNAL"), SASL_HEADER)
    assert data[:8] == SASL_HEADER
    assert resolve(decode(data[16:])[0]) == SaslMechanisms(("PLAIN", "EXTERNAL"))


def test_a_mechanism_that_is_not_offered_is_refused():
    side = server("PLAIN")
    data = feed(side, SASL_HEADER + sasl_frame(SaslInit("ANONYMOUS").encoded()))
    assert resolve(decode(data[-8:])[0]) == SaslOutcome(SaslCode.AUTH)
    assert side.last(Closed).error.condition == "amqp:unauthorized-access"


def test_plain_without_user_and_password_is_refused():
    side = server("PLAIN")
    feed(side, SASL_HEADER + sasl_frame(SaslInit("PLAIN", b"fred").encoded()))
    assert side.last(Closed).error.condition == "amqp:unauthorized-access"


def test_a_client_without_sasl_is_anonymous_where_that_is_offered():
    side = server("PLAIN", "ANONYMOUS")
    feed(side, AMQP_HEADER + amqp_frame(0, Open("bare").encoded()))
    assert side.events == [Authenticate("ANONYMOUS", "", None)]
    side.handle(side.connection.authenticated(True))
    assert side.take_output().startswith(AMQP_HEADER)
    assert side.of(Opened)


def test_a_client_without_sasl_that_is_not_let_in_is_told_in_a_close():
    side = server("ANONYMOUS")
    feed(side, AMQP_HEADER)
    side.handle(side.connection.authenticated(False, "not today"))
    assert b"amqp:unauthorized-access" in side.take_output()
    assert side.of(Closed)


def test_where_sasl_is_required_a_bare_client_gets_the_header_that_is_expected():
    side = server("PLAIN")
    assert feed(side, AMQP_HEADER) == SASL_HEADER
    assert side.of(Closed)


def test_without_mechanisms_there_is_no_sasl():
    side = server()
    assert feed(side, AMQP_HEADER) == AMQP_HEADER
    other = server()
    assert feed(other, SASL_HEADER) == AMQP_HEADER
    assert other.of(Closed)


@pytest.mark.parametrize(
    "header", [TLS_HEADER, b"AMQP\x00\x00\x09\x01", b"AMQP\x03\x02\x00\x00", b"GET / HTTP/1.1\r\n", b"G"]
)
def test_other_protocols_get_our_header_and_are_closed(header):
    side = server("ANONYMOUS")
    assert feed(side, header) == SASL_HEADER
    assert side.last(Closed).error.condition == "amqp:connection:framing-error"
    assert feed(side, AMQP_HEADER) == b""


@pytest.mark.parametrize(
    "frame",
    [
        sasl_frame(SaslResponse(b"x").encoded()),
        sasl_frame(SaslMechanisms(("PLAIN",)).encoded()),
        sasl_frame(b"\x40"),
        amqp_frame(0, Open("x").encoded()),
        b"\x00\x00\x10\x00\x02\x01\x00\x00",
        b"\x00\x00\x00\x07\x02\x01\x00\x00",
        b"\x00\x00\x00\x0a\x03\x01\x00\x00\x00\x00",
        sasl_frame(b"\x00\x53\x41\xc0\x05"),
        sasl_frame(b"\x00\x53\x41\x45"),
    ],
)
def test_what_does_not_belong_into_sasl_ends_it(frame):
    side = server("PLAIN")
    feed(side, SASL_HEADER + frame)
    assert side.of(Closed)


def test_a_client_does_not_send_a_password_to_a_server_that_does_not_offer_plain():
    pair = Pair(Options("client", credentials=Credentials("PLAIN", "fred", "secret")), Options("server"))
    pair.client.connection.open()
    pair.run()
    assert "ANONYMOUS" in pair.client.last(Closed).error.description
    assert not pair.server.of(Authenticate)


def test_a_client_is_closed_by_a_server_that_answers_with_another_header():
    side = Side(Options("client", credentials=Credentials("ANONYMOUS")), server=False)
    side.connection.open()
    side.take_output()
    feed(side, AMQP_HEADER)
    assert side.last(Closed).error.condition == "amqp:connection:framing-error"
