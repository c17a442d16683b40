"""Messages of a real broker are in the spool before the broker is told so."""

import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from certificates import Authority
from heliograph.errors import Problem
from heliograph.pipeline.spool.options import SpoolOptions, spool_options
from heliograph.pipeline.spool.receiver import Receiver
from heliograph.pipeline.spool.segments import read_segment, segment_numbers
from paho_client import PahoClient
from pipeline.spool.mosquitto import Mosquitto
from running import PATIENCE, Serve, environment

TESTS = Path(__file__).parents[2]


def options(broker: Mosquitto, spool: Path, **more: str) -> SpoolOptions:
    return spool_options({"server": broker.url, "topic": "plant/#", "spool": str(spool), **more})


@contextmanager
def receiving(wanted: SpoolOptions) -> Iterator[Receiver]:
    receiver = Receiver(wanted)
    try:
        yield receiver
    finally:
        receiver.stop()


def spooled(directory: Path) -> list[str]:
    """The payloads of all messages in a spool."""
    return [
        payload.decode()
        for number in segment_numbers(directory)
        for payload in read_segment(directory, number)[1].column("payload").to_pylist()
    ]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 3 * PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)


def spooled_count(directory: Path) -> int:
    """How many messages have been spooled so far, deleted ones too."""
    numbers = segment_numbers(directory)
    facts = read_segment(directory, numbers[-1])[0] if numbers else None
    return 0 if facts is None else facts.first + facts.rows


def settled(number: Callable[[], int]) -> int:
    """A number, when it has been the same for a while."""
    now, since = number(), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.02)
        if number() != now:
            now, since = number(), time.monotonic()
    return now


def numbers(first: int, end: int) -> list[str]:
    return [str(number) for number in range(first, end)]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_are_spooled_in_order(broker: Mosquitto, tmp_path: Path, qos: int) -> None:
    spool = tmp_path / "spool"
    with receiving(options(broker, spool, qos=str(qos))):
        broker.publish("plant/1", numbers(0, 500), qos)
        wait_until(lambda: len(spooled(spool)) == 500)
    assert spooled(spool) == numbers(0, 500)


def test_the_broker_keeps_messages_while_nobody_receives(broker: Mosquitto, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with receiving(options(broker, spool)):
        pass
    broker.publish("plant/1", numbers(0, 300))
    with receiving(options(broker, spool)):
        wait_until(lambda: len(spooled(spool)) == 300)
    assert spooled(spool) == numbers(0, 300)


def test_a_broker_that_is_restarted_is_found_again(broker: Mosquitto, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with receiving(options(broker, spool)) as receiver:
        broker.publish("plant/1", numbers(0, 10))
        wait_until(lambda: len(spooled(spool)) == 10)
        broker.stop()
        broker.start()
        broker.publish("plant/1", numbers(10, 20))
        wait_until(lambda: len(set(spooled(spool))) == 20)
        receiver.check()


class Killed:
    """A receiver that is killed again and again while somebody publishes."""

    def __init__(self, broker: Mosquitto, spool: Path, qos: int) -> None:
        self._command = [sys.executable, "-m", "pipeline.spool.receiving", broker.url, "plant/#", str(qos), str(spool)]
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        paths = f"{environment()['PYTHONPATH']}:{TESTS}"
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE, env=environment(PYTHONPATH=paths))
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def again(self) -> None:
        self.kill()
        self.process = self._started()


@pytest.mark.parametrize("qos", [1, 2])
def test_a_receiver_that_is_killed_loses_nothing(broker: Mosquitto, tmp_path: Path, qos: int) -> None:
    """And with QoS 2, nothing comes twice."""
    spool = tmp_path / "spool"
    receiver = Killed(broker, spool, qos)
    publisher = threading.Thread(target=broker.publish, args=("plant/1", numbers(0, 3000), qos))
    publisher.start()
    for part in range(1, 5):
        wait_until(lambda part=part: spooled_count(spool) > 500 * part)  # type: ignore[misc]
        receiver.again()
    publisher.join()
    wait_until(lambda: spooled_count(spool) >= 3000 and len(set(spooled(spool))) == 3000)
    receiver.kill()
    found = Counter(spooled(spool))
    assert set(found) == set(numbers(0, 3000))
    if qos == 2:
        assert found.total() == 3000


def test_a_full_spool_makes_the_broker_wait(broker: Mosquitto, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with receiving(options(broker, spool, max_spool_bytes="20000")) as receiver:
        broker.publish("plant/1", ["x" * 1000] * 600)
        wait_until(lambda: receiver.spool.size >= 20_000)
        there = settled(lambda: spooled_count(spool))
        assert there < 600, "it goes on although the spool is full"
        while there < 600:
            receiver.spool.delete_before(receiver.spool.end)
            wait_until(lambda there=there: spooled_count(spool) > there)  # type: ignore[misc]
            there = spooled_count(spool)


def test_a_wrong_password_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = Mosquitto(folder, password="right")
    try:
        with pytest.raises(Problem, match=r"does not let us in: (not authorized|bad user name or password)"):
            Receiver(options(broker, tmp_path / "spool", user="reader", password="wrong"))
        with receiving(options(broker, tmp_path / "spool", user="reader", password="right")):
            pass
    finally:
        broker.stop()


def test_a_broker_that_is_not_there_is_told(tmp_path: Path) -> None:
    wanted = spool_options({"server": "mqtt://127.0.0.1:1", "topic": "t", "spool": str(tmp_path)})
    with pytest.raises(Problem, match=r"cannot connect to mqtt://127.0.0.1:1: connection refused: nothing listens"):
        Receiver(wanted)


def test_what_nobody_expected_is_told_too(broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the query would wait for messages for ever."""

    def append(*_: object) -> None:
        raise MemoryError("a message too large")

    with receiving(options(broker, tmp_path / "spool")) as receiver:
        monkeypatch.setattr(receiver.spool, "append", append)
        broker.publish("plant/1", ["x"])
        with pytest.raises(MemoryError, match="a message too large"):
            wait_until(lambda: receiver.check() is not None)


def test_a_broker_that_knows_no_mqtt_5_is_spoken_to_in_the_version_before(tmp_path: Path) -> None:
    """The first answer is that of such a broker to a CONNECT of MQTT 5; the others take us in."""
    versions = []

    def answer(listening: socket.socket) -> None:
        for answers in ([b"\x20\x03\x00\x84\x00"], [b"\x20\x02\x00\x00", b"\x90\x03\x00\x01\x01"]):
            with listening.accept()[0] as client:
                for each in answers:
                    data = client.recv(1000)
                    if data[0] == 0x10:
                        versions.append(data[8])
                    client.sendall(each)
                client.recv(1000)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer, args=(listening,))
        answering.start()
        server = f"mqtt://127.0.0.1:{listening.getsockname()[1]}"
        with receiving(spool_options({"server": server, "topic": "plant/#", "spool": str(tmp_path / "spool")})):
            pass
        answering.join(PATIENCE)
    assert versions == [5, 4]


def test_a_spool_stays_with_its_topic(broker: Mosquitto, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with receiving(options(broker, spool)):
        pass
    with pytest.raises(Problem, match='is the spool of topic "plant/#", not of "other/#"'):
        Receiver(options(broker, spool, topic="other/#"))


def test_tls_is_spoken_to_a_broker_with_a_good_certificate(
    tmp_path: Path, authority: Authority, every_listener: str, serve: Serve
) -> None:
    server = serve(every_listener)
    url = server.url("mqtts").replace("127.0.0.1", "localhost")
    wanted = {"server": url, "topic": "plant/#", "spool": str(tmp_path / "spool")}
    with pytest.raises(Problem, match=r"the certificate of .* is not accepted"):
        Receiver(spool_options(wanted))
    with receiving(spool_options({**wanted, "ca": str(authority.cert)})):
        with PahoClient() as publisher:
            publisher.connect(port=server.port)
            publisher.publish("plant/1", b"safe", 1)
        wait_until(lambda: spooled(tmp_path / "spool") == ["safe"])
