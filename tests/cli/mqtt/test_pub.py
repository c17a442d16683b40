"""`helio pub` with mosquitto in between and mosquitto_sub at the other end."""

import pytest

VERSIONS = ["mqttv31", "mqttv311", "mqttv5"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_a_message_arrives_with_each_quality_of_service(broker, version, qos):
    subscriber = broker.start_mosquitto_sub("-t", "a/b", "-q", "2", "-C", "1", "-F", "%t %p %q")
    assert broker.helio("pub", "-V", version, "-q", qos, "-t", "a/b", "-m", "hé") == (0, b"", "")
    assert broker.received(subscriber) == [f"a/b hé {qos}".encode()]


def test_a_file(broker, tmp_path):
    (tmp_path / "payload").write_bytes(b"\xff\0")
    subscriber = broker.start_mosquitto_sub("-t", "a", "-C", "1", "-F", "%x")
    assert broker.helio("pub", "-t", "a", "-f", str(tmp_path / "payload"))[0] == 0
    assert broker.received(subscriber) == [b"ff00"]


def test_all_of_standard_input(broker):
    subscriber = broker.start_mosquitto_sub("-t", "a", "-C", "1", "-F", "%x")
    assert broker.helio("pub", "-t", "a", "-s", stdin=b"1\n2\n")[0] == 0
    assert broker.received(subscriber) == [b"310a320a"]


@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_each_line_of_standard_input(broker, qos):
    lines = [b"line %d" % number for number in range(3000)]
    subscriber = broker.start_mosquitto_sub("-t", "a", "-q", "0", "-C", str(len(lines)))
    assert broker.helio("pub", "-q", qos, "-t", "a", "-l", stdin=b"\n".join(lines))[0] == 0
    assert broker.received(subscriber) == lines


def test_a_line_is_published_before_the_next_is_typed(broker):
    subscriber = broker.start_subscribed("-t", "a", "-C", "2")
    publisher = broker.start_helio("pub", "-t", "a", "-l")
    publisher.say(b"first\n")
    assert subscriber.line() == b"first"
    assert publisher.end(b"second\n")[0] == 0
    assert subscriber.line() == b"second"


def test_an_empty_message_clears_what_was_retained(broker):
    assert broker.helio("pub", "-t", "a", "-m", "kept", "-r")[0] == 0
    assert broker.helio("sub", "-t", "a", "-C", "1")[1] == b"kept\n"
    assert broker.helio("pub", "-t", "a", "-n", "-r")[0] == 0
    assert broker.helio("sub", "-t", "a", "-C", "1", "-W", "0.2")[:2] == (27, b"")


def test_repeats(broker):
    subscriber = broker.start_mosquitto_sub("-t", "a", "-C", "3")
    options = ["--repeat", "3", "--repeat-delay", "0.01", "-q", "1"]
    assert broker.helio("pub", "-t", "a", "-m", "again", *options)[0] == 0
    assert broker.received(subscriber) == [b"again"] * 3


def test_properties(broker):
    fields = "%p %C %E %P %R %D"
    subscriber = broker.start_mosquitto_sub("-V", "mqttv5", "-t", "a", "-C", "1", "-F", fields)
    options = ["-D", "publish", "content-type", "text/plain", "-D", "publish", "user-property", "k", "v"]
    options += ["-D", "publish", "message-expiry-interval", "60", "-D", "publish", "response-topic", "r"]
    options += ["-D", "publish", "correlation-data", "c", "-D", "publish", "user-property", "k", "w"]
    assert broker.helio("pub", "-V", "mqttv5", "-t", "a", "-m", "x", *options) == (0, b"", "")
    assert broker.received(subscriber) == [b"x text/plain 60 k:v k:w r c"]


def test_a_large_message(broker, tmp_path):
    (tmp_path / "payload").write_bytes(b"x" * 5_000_000)
    subscriber = broker.start_subscribed("-t", "a", "-C", "1", "-F", "%l")
    assert broker.helio("pub", "-t", "a", "-f", str(tmp_path / "payload"))[0] == 0
    assert subscriber.line() == b"5000000"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "x"], "no topic"),
        (["-t", "a/#", "-m", "x"], "wildcard"),
        (["-t", "a", "-f", "no-such-file"], "cannot read no-such-file: No such file or directory"),
        (["-t", "a", "-n", "--repeat", "0"], "--repeat counts from 1"),
        (["-t", "a", "-l", "--repeat", "2"], "--repeat is for one message"),
        (["-t", "a", "-n", "-c"], "-i"),
        (["-t", "a", "-n", "-x", "5"], "-x needs MQTT 5"),
        (["-t", "a", "-n", "-D", "publish", "content-type", "x"], "-D needs MQTT 5"),
        (["-V", "5", "-t", "a", "-n", "-D", "publish", "colour", "red"], "-D publish colour red: expected"),
        (["-V", "5", "-t", "a", "-n", "-D", "publish", "topic-alias", "many"], "expected a number"),
        (["-V", "5", "-t", "a", "-n", "-D", "publish", "topic-alias", "0"], "topic_alias is 0"),
        (["-V", "5", "-t", "a", "-n", "-D", "connect", "topic-alias", "1"], "does not belong in CONNECT"),
        (["-t", "a", "-n", "--will-payload", "x"], "--will-topic"),
        (["-t", "a", "-n", "-P", "secret"], "needs a user name"),
        (["-n", "-L", "http://localhost/a"], "expected mqtt(s)://"),
        (["-n", "-L", "mqtt://localhost:port/a"], "-L mqtt://localhost:port/a"),
        (["-t", "a", "-n", "--cert", "x"], "--cert and --key belong together"),
        (["-t", "a", "-n", "--cafile", "no-such-file"], "cannot use no-such-file: No such file or directory"),
        (
            ["-t", "a", "-m", "x", "-p", "1", "-h", "127.0.0.1"],
            "cannot connect to 127.0.0.1:1: connection refused: nothing listens on 127.0.0.1:1",
        ),
    ],
)
def test_mistakes_are_explained_in_one_line(capsys, options, message):
    from heliograph.cli.main import main

    assert main(["pub", *options]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("helio pub: ")
    assert message in errors
    assert errors.count("\n") == 1


def test_quiet_leaves_only_the_exit_status(capsys):
    from heliograph.cli.main import main

    assert main(["pub", "--quiet", "-t", "a", "-n", "-h", "127.0.0.1", "-p", "1"]) == 1
    assert capsys.readouterr().err == ""
