"""Real brokers lose nothing, whatever the version, the QoS and the transport; and the load says so."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from certificates import Authority
from heliograph.errors import Problem
from heliograph.lab.load import Address, Group, LoadOutcome, Payload, Plan, Will, run_load
from running import Serve

PROTOCOLS = ("mqtt31", "mqtt311", "mqtt5")


def pair(name: str, *, qos: int = 0, consumers: int = 2, rate: float | None = 200.0, **more: object) -> list[Group]:
    """Three publishers and some consumers on topics of their own."""
    sending = ("payload", "properties", "retain", "topics", "will", "window")
    common = {key: value for key, value in more.items() if key not in (*sending, "shared", "durable")}
    publish = common | {key: value for key, value in more.items() if key in sending}
    consume = common | {key: value for key, value in more.items() if key in ("shared", "durable")}
    return [
        Group(f"{name}-in", "publish", 3, destination=name + "/{client}/{topic}", qos=qos, rate=rate, **publish),  # type: ignore[arg-type]
        Group(f"{name}-out", "consume", consumers, filters=(f"{name}/#",), qos=qos, **consume),  # type: ignore[arg-type]
    ]


def every_version() -> list[Group]:
    return [
        group
        for qos, protocol in product((0, 1, 2), PROTOCOLS)
        for group in pair(f"{protocol}-{qos}", qos=qos, protocol=protocol)
    ]


def check(outcome: LoadOutcome, groups: list[Group]) -> None:
    for one in groups:
        totals = outcome.groups[one.name]
        assert (totals.errors, totals.first_error) == (0, ""), one.name
        if one.sends:
            assert totals.sent + totals.unsent > 10, one.name
            assert totals.acknowledged == (totals.sent if one.qos else 0), one.name
        if one.receives:
            assert totals.expected > 0, one.name
            assert (totals.lost, totals.duplicates) == (0, 0), one.name
            assert totals.reordered == 0 or one.shared, one.name
            assert totals.received == totals.expected, one.name
            assert {"connect", "subscribe", "message", "service"} <= set(totals.latencies), one.name


def test_heliograph_in_every_version_and_over_every_transport(
    serve: Serve, every_listener: str, authority: Authority, tmp_path: Path
) -> None:
    files = [tmp_path / "one", tmp_path / "other"]
    for file in files:
        file.write_text(file.name * 100)
    server = serve(every_listener)
    schemes = {"tcp": "mqtt", "tls": "mqtts", "ws": "ws", "wss": "wss"}
    addresses = {kind: Address(server.port_of(scheme), ca_file=str(authority.cert)) for kind, scheme in schemes.items()}
    groups = every_version()
    for transport in ("tls", "ws", "wss"):
        groups += pair(f"over-{transport}", qos=1, transport=transport, payload=Payload(sizes=(32, 5000, 70000)))
    groups += pair("share", qos=1, consumers=3, shared="s", protocol="mqtt5", properties=3)
    groups += pair("durable", qos=2, durable=True, topics=3, payload=Payload(ranges=((40, 400),)))
    groups += pair("files", payload=Payload(files=tuple(map(str, files))), retain=True)
    groups += pair("window", qos=1, rate=None, window=5, will=Will("gone/{client}", "x"))
    groups = [replace(group, door=group.transport) for group in groups]
    check(run_load(Plan(tuple(groups), 0.6), addresses), groups)


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[int]:
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if program is None:
        pytest.skip("mosquitto is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_type none\n")
    with subprocess.Popen([program, "-c", str(config)], stderr=subprocess.DEVNULL) as process:
        give_up = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert time.monotonic() < give_up
                time.sleep(0.02)
        yield port
        process.terminate()


def test_mosquitto_in_every_version(mosquitto: int) -> None:
    groups = every_version()
    check(run_load(Plan(tuple(groups), 0.5), {"main": Address(mosquitto)}), groups)


def test_a_target_that_is_not_there_is_a_problem_that_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(Problem, match=r"cannot connect.*refused"):
        run_load(Plan((Group("g", "publish", 2, destination="t"),), 1.0), {"main": Address(port)})
