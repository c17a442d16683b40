"""Who is let in, what they are told, and how a connection ends."""

import pytest

from broker.amqp.amqp_clients import text
from heliograph.amqp import Closed, Credentials, Opened, Source, Target
from heliograph.mqtt.reasons import Reason

SOLE = "sole-connection-for-container"


class StrictAuthenticator:
    """Knows one user, and answers when the test says so."""

    anonymous = False

    def __init__(self, proven_user=None):
        self.proven_user = proven_user
        self.asked = []

    def check(self, outlet, user, password, verdict):
        self.asked.append((user, password))
        self.verdict = verdict


def test_an_anonymous_client_is_let_in_where_that_is_allowed(scene):
    client = scene.amqp("meter")
    assert client.connection.opened
    assert scene.broker.stats.connected == 1
    assert list(scene.host.containers) == ["meter"]


def test_a_client_without_sasl_is_anonymous(scene):
    assert scene.amqp(credentials=None).connection.opened


def test_anonymous_is_not_offered_where_a_name_is_wanted(scene):
    client = scene.amqp(authenticator=StrictAuthenticator())
    assert client.error.description == "the server offers PLAIN, not ANONYMOUS"


def test_a_password_is_checked_and_the_client_waits_for_the_verdict(scene):
    authenticator = StrictAuthenticator()
    client = scene.amqp(authenticator=authenticator, credentials=Credentials("PLAIN", "ada", "secret"))
    assert authenticator.asked == [("ada", b"secret")]
    assert not client.connection.opened
    authenticator.verdict(Reason.SUCCESS, "", "ada")
    scene.run()
    assert client.connection.opened
    assert client.connection.user == "ada"


def test_a_wrong_password_is_the_end(scene):
    authenticator = StrictAuthenticator()
    client = scene.amqp(authenticator=authenticator, credentials=Credentials("PLAIN", "ada", "guess"))
    authenticator.verdict(Reason.BAD_USER_NAME_OR_PASSWORD, "wrong user name or password", None)
    assert client.error.condition == "amqp:unauthorized-access"
    assert client.outlet.finished
    assert scene.broker.stats.refused == 1


def test_a_name_that_nobody_has_proved_is_not_the_clients_user(scene):
    authenticator = StrictAuthenticator()
    client = scene.amqp(authenticator=authenticator, credentials=Credentials("PLAIN", "ada", "secret"))
    authenticator.verdict(Reason.SUCCESS, "", None)
    scene.run()
    assert client.connection.user is None


def test_a_busy_server_says_that_the_client_may_try_again(scene):
    authenticator = StrictAuthenticator()
    client = scene.amqp(authenticator=authenticator, credentials=Credentials("PLAIN", "ada", "secret"))
    authenticator.verdict(Reason.SERVER_BUSY, "too many logins at once", None)
    scene.run()
    assert client.error.description == "the server did not let us in (sys_temp): too many logins at once"


def test_a_certificate_is_shown_by_external(scene):
    authenticator = StrictAuthenticator(proven_user="lamp")
    client = scene.amqp(authenticator=authenticator, credentials=Credentials("EXTERNAL"))
    assert authenticator.asked == [("lamp", None)]
    authenticator.verdict(Reason.SUCCESS, "", "lamp")
    scene.run()
    assert client.connection.user == "lamp"


def test_what_a_refused_client_sent_along_counts_for_nothing(make):
    scene = make(connections=1)
    scene.amqp("first")
    client = scene.amqp_stranger("second", credentials=None)
    client.engine.open()
    session = client.engine.begin()
    session.attach_sender("s", Target(dynamic=True))
    session.attach_receiver("r", Source(dynamic=True))
    before = scene.broker.queues.definitions(internal=True)
    assert client.error.condition == "amqp:resource-limit-exceeded"
    assert scene.broker.queues.definitions(internal=True) == before


def test_a_second_connection_of_a_container_that_wants_to_be_alone_is_refused(scene):
    first = scene.amqp("c", desired_capabilities=(SOLE,))
    second = scene.amqp("c", desired_capabilities=(SOLE,))
    (opened,) = second.take(Opened)
    assert opened.open.properties == {"amqp:connection-establishment-failed": True}
    error = second.error
    assert error.condition == "amqp:invalid-field"
    assert error.info == {"invalid-field": "container-id"}
    assert first.connection.opened


def test_the_container_id_is_free_again_when_its_connection_is_gone(scene):
    scene.amqp("c", desired_capabilities=(SOLE,)).lose()
    assert scene.amqp("c", desired_capabilities=(SOLE,)).connection.opened


def test_containers_that_do_not_mind_may_have_several_connections(scene):
    first, second = scene.amqp("c"), scene.amqp("c")
    first.lose()
    assert scene.host.containers == {"c": [second.connection]}


@pytest.mark.parametrize("sends", [b"", b"AMQP\x03\x01\x00\x00", b"AMQP\x00\x01\x00\x00"])
def test_who_does_not_open_in_time_is_cut_off(scene, sends):
    client = scene.amqp_stranger()
    if sends:
        client.connection.receive(sends)
    scene.pass_time(11)
    assert client.outlet.finished


def test_a_client_that_falls_silent_is_cut_off(scene):
    client = scene.amqp()
    scene.clients.clear()
    scene.pass_time(61)
    assert client.outlet.finished
    assert scene.broker.stats.connected == 0


def test_a_client_that_sends_empty_frames_stays(scene):
    client = scene.amqp()
    for _ in range(20):
        client.engine.tick(scene.now)
        scene.pass_time(10)
    assert client.connection.opened


def test_the_server_says_why_it_closes(scene):
    client = scene.amqp()
    client.connection.end(Reason.SERVER_SHUTTING_DOWN, "the server is stopping")
    error = client.error
    assert (error.condition, error.description) == ("amqp:connection:forced", "the server is stopping")
    assert client.outlet.finished


def test_a_client_that_closes_gets_an_answer_and_the_end(scene):
    client = scene.amqp()
    client.engine.close()
    assert client.take(Closed) == [Closed(None)]
    assert client.outlet.finished
    assert scene.host.containers == {}
    assert scene.broker.stats.connected == 0


def test_bad_bytes_end_the_connection_with_an_error(scene):
    client = scene.amqp()
    client.connection.receive(b"\x00\x00\x00\x03....")
    assert client.error.condition == "amqp:connection:framing-error"
    assert client.outlet.finished
    assert scene.broker.stats.protocol_errors == 1


def test_messages_are_counted(scene):
    scene.queue("q")
    client = scene.amqp()
    client.send(client.sender("q"), text("a"), text("b"))
    client.receiver("q")
    assert (scene.broker.stats.messages_received, scene.broker.stats.messages_sent) == (2, 2)
