"""`helio sub` with mosquitto in between and mosquitto_pub at the other end."""

import json
import signal

import pytest


@pytest.mark.parametrize("version", ["31", "311", "5"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_messages_arrive_with_each_quality_of_service(broker, version, qos):
    subscriber = broker.start_subscribed("-V", version, "-q", qos, "-t", "a/+", "-C", "2", "-F", "%t %p %q")
    for number in ("1", "2"):
        broker.mosquitto_pub("-q", "2", "-t", f"a/{number}", "-m", number)
    status, out, _ = subscriber.end()
    assert (status, out) == (0, f"a/1 1 {qos}\na/2 2 {qos}\n".encode())


def test_each_message_is_shown_at_once(broker):
    subscriber = broker.start_subscribed("-t", "a")
    for text in ("one", "two"):
        broker.mosquitto_pub("-t", "a", "-m", text)
        assert subscriber.line() == text.encode()


def test_several_filters_but_not_those_filtered_out(broker):
    subscriber = broker.start_subscribed("-v", "-t", "a/#", "-t", "b", "-T", "a/secret/+", "-C", "2")
    for topic in ("a/secret/x", "a/b", "b"):
        broker.mosquitto_pub("-t", topic, "-m", "x")
    assert subscriber.end()[1] == b"a/b x\nb x\n"


def test_verbose_shows_that_a_payload_is_empty(broker):
    subscriber = broker.start_subscribed("-v", "-t", "a", "-C", "1")
    broker.mosquitto_pub("-t", "a", "-n")
    assert subscriber.end()[1] == b"a (null)\n"


def test_no_end_of_line(broker):
    subscriber = broker.start_subscribed("-N", "-t", "a", "-C", "2")
    for _ in range(2):
        broker.mosquitto_pub("-t", "a", "-m", "x")
    assert subscriber.end()[1] == b"xx"


def test_json(broker):
    subscriber = broker.start_subscribed("-V", "5", "-t", "a", "-C", "1", "-F", "%J", "--pretty")
    broker.mosquitto_pub("-V", "5", "-t", "a", "-m", '{"n":1}', "-D", "publish", "user-property", "k", "v")
    facts = json.loads(subscriber.end()[1])
    assert (facts["payload"], facts["properties"]) == ({"n": 1}, {"user-property": [["k", "v"]]})


def test_a_timeout_has_the_exit_status_of_mosquitto(broker):
    assert broker.helio("sub", "-t", "a", "-W", "0.1") == (27, b"", "")


def test_retained_messages_can_be_left_out(broker):
    broker.mosquitto_pub("-t", "a", "-m", "old", "-r")
    subscriber = broker.start_subscribed("-R", "-t", "a", "-C", "1")
    broker.mosquitto_pub("-t", "a", "-m", "new")
    assert subscriber.end()[1] == b"new\n"


def test_only_retained_messages(broker):
    broker.mosquitto_pub("-t", "a", "-m", "old", "-r")
    subscriber = broker.start_subscribed("--retained-only", "-t", "a")
    broker.mosquitto_pub("-t", "a", "-m", "new")
    status, out, _ = subscriber.end()
    assert (status, out) == (0, b"old\n")


def test_retained_messages_can_be_removed(broker):
    broker.mosquitto_pub("-t", "a", "-m", "old", "-r")
    assert broker.helio("sub", "--remove-retained", "-t", "a", "-C", "1")[:2] == (0, b"old\n")
    assert broker.helio("sub", "-t", "a", "-C", "1", "-W", "0.2")[:2] == (27, b"")


@pytest.mark.parametrize("version", ["311", "5"])
@pytest.mark.parametrize("qos", ["1", "2"])
def test_a_session_keeps_messages_and_its_subscription(broker, version, qos):
    named = ["-V", version, "-q", qos, "-i", "me", "-c", "-t", "a"]
    assert broker.helio("sub", *named, "-E") == (0, b"", "")
    for text in ("1", "2", "3"):
        broker.mosquitto_pub("-q", "2", "-t", "a", "-m", text)
    assert broker.helio("sub", *named, "-C", "2")[1] == b"1\n2\n"
    assert broker.helio("sub", *named, "-C", "1")[1] == b"3\n"


def test_unsubscribing_a_session(broker):
    named = ["-i", "me", "-c", "-q", "1"]
    broker.helio("sub", *named, "-t", "a", "-E")
    assert broker.helio("sub", *named, "-U", "a", "-E") == (0, b"", "")
    broker.mosquitto_pub("-q", "1", "-t", "a", "-m", "x")
    assert broker.helio("sub", *named, "-t", "b", "-W", "0.2")[:2] == (27, b"")


def test_a_subscription_identifier(broker):
    identifier = ["-D", "subscribe", "subscription-identifier", "7"]
    subscriber = broker.start_subscribed("-V", "5", "-t", "a", "-C", "1", "-F", "%S", *identifier)
    broker.mosquitto_pub("-t", "a", "-m", "x")
    assert subscriber.end()[1] == b"7\n"


def test_sigterm_says_goodbye_to_the_server(broker):
    witness = broker.start_subscribed("-t", "will/#", "-v", "-C", "1")
    subscriber = broker.start_subscribed("-t", "a", "--will-topic", "will/me", "--will-payload", "lost")
    subscriber.signal(signal.SIGTERM)
    assert subscriber.end()[0] == 0
    broker.mosquitto_pub("-t", "will/nobody", "-m", "x")
    assert witness.end()[1] == b"will/nobody x\n"


def test_the_will_is_published_when_the_client_is_killed(broker):
    witness = broker.start_subscribed("-t", "will/#", "-F", "%t %p %q", "-q", "1", "-C", "1")
    will = ["--will-topic", "will/me", "--will-payload", "lost", "--will-qos", "1", "--will-retain"]
    subscriber = broker.start_subscribed("-t", "a", *will)
    subscriber.signal(signal.SIGKILL)
    assert witness.end()[1] == b"will/me lost 1\n"
    assert broker.helio("sub", "-t", "will/#", "-C", "1", "-F", "%r")[1] == b"1\n"


def test_a_message_that_cannot_be_printed_is_no_loss_of_the_client(broker):
    witness = broker.start_subscribed("-t", "will/#", "-v", "-C", "1")
    subscriber = broker.start_subscribed("-t", "a", "-F", "%J", "--will-topic", "will/me")
    broker.mosquitto_pub("-t", "a", "-m", "no JSON")
    status, _, errors = subscriber.end()
    assert status == 1
    assert "is not JSON" in errors
    broker.mosquitto_pub("-t", "will/nobody", "-m", "x")
    assert witness.end()[1] == b"will/nobody x\n"


@pytest.fixture
def heeds_ctrl_c():
    """Have programs heed Ctrl-C: tests that a shell runs in the background ignore it, as does all that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_ends_without_a_traceback(broker):
    subscriber = broker.start_helio("sub", "-d", "-t", "a")
    subscriber.wait_for("<- SUBACK")
    subscriber.signal(signal.SIGINT)
    status, _, errors = subscriber.end()
    assert status == 130
    assert "Traceback" not in errors


def test_a_reader_that_goes_away_ends_it_quietly(broker):
    subscriber = broker.start_subscribed("-t", "a")
    subscriber.stop_reading()
    broker.mosquitto_pub("-t", "a", "-m", "x")
    status, _, errors = subscriber.end()
    assert status == 0
    assert "Traceback" not in errors
    assert "Exception" not in errors


def test_the_keep_alive_is_kept(broker):
    subscriber = broker.start_subscribed("-t", "a", "-k", "1")
    subscriber.wait_for("-> PINGREQ")
    subscriber.wait_for("<- PINGRESP")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing to subscribe to"),
        (["-t", "a#"], "# is not the whole last level"),
        (["-t", "a", "-T", ""], "topic filter is empty"),
        (["-t", "a", "-C", "0"], "-C 0"),
        (["-t", "a", "-F", "%z"], "unknown field %z"),
        (["-t", "a", "-k", "-1"], "-k -1"),
        (["-t", "a", "-i", "x", "-I", "y"], "exclude each other"),
        (["-t", "a", "-V", "5", "-x", "-2"], "-x -2"),
    ],
)
def test_mistakes_are_explained_in_one_line(capsys, options, message):
    from heliograph.cli.main import main

    assert main(["sub", *options]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("helio sub: ")
    assert message in errors
    assert errors.count("\n") == 1
