"""`helio pub` and `helio sub` with our own server between them, over every kind of listener."""

import subprocess

import pytest

from certificates import Authority
from running import PATIENCE, Lines, RunningServer, environment, helio

VERSIONS = ["mqttv31", "mqttv311", "mqttv5"]


def received(server: RunningServer, subscribe: list[str], publish: list[str], stdin: bytes = b"") -> list[bytes]:
    """What `helio sub` prints when `helio pub` has published."""
    subscriber = subprocess.Popen(
        helio("sub", "-d", *subscribe), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said = Lines(subscriber.stderr)
    try:
        said.wait_for("<- SUBACK")
        subprocess.run(helio("pub", *publish), env=environment(), input=stdin, timeout=PATIENCE, check=True)
        assert subscriber.stdout
        lines = subscriber.stdout.read().splitlines()
        assert subscriber.wait(PATIENCE) == 0, said.text()
        return lines
    finally:
        subscriber.kill()
        subscriber.wait()
        said.close()
        if subscriber.stdout:
            subscriber.stdout.close()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_lines(server: RunningServer, topic: str, version: str, qos: str) -> None:
    lines = [b"line %d" % number for number in range(3000)]
    to = ["-p", str(server.port), "-V", version, "-t", topic, "-q", qos]
    assert received(server, [*to, "-C", "3000"], [*to, "-l"], b"\n".join(lines)) == lines


@pytest.mark.parametrize("scheme", ["mqtts", "unix"])
def test_other_ways_in(server: RunningServer, authority: Authority, topic: str, scheme: str) -> None:
    if scheme == "unix":
        address = ["--unix", server.url("unix").removeprefix("unix:")]
    else:
        address = ["-h", "localhost", "-p", str(server.port_of("mqtts")), "--cafile", str(authority.cert)]
    to = [*address, "-t", topic, "-q", "1"]
    assert received(server, [*to, "-C", "1"], [*to, "-m", "here"]) == [b"here"]


def test_a_retained_message_is_there_for_whoever_comes_later(server: RunningServer, topic: str) -> None:
    to = ["-p", str(server.port), "-t", topic]
    for _ in range(2):
        assert received(server, [*to, "-C", "1"], [*to, "-m", "kept", "-r"]) == [b"kept"]
    assert received(server, [*to, "-R", "-C", "1"], [*to, "-n", "-r"]) == [b""]
