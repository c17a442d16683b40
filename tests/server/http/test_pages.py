"""What operators can see of a running server: the pages and $SYS."""

import json
import re
from collections.abc import Iterator

import pytest

from configurations import PLAIN
from heliograph import __version__
from heliograph.mqtt import Publish
from plain_client import PlainClient
from running import RunningServer, servers

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(\{{{LABEL}(?:,{LABEL})*\}})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|[+-]Inf)")


def parse_metrics(text: str) -> dict[str, float]:
    """Samples by name with labels; fails at anything that Prometheus' text format does not allow."""
    samples: dict[str, float] = {}
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            assert kind in {"counter", "gauge"}
            kinds[name] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            name, labels, value = found.groups()
            assert name in kinds
            assert name in helped
            assert list(kinds)[-1] == name, "samples of one metric stand together"
            assert name + (labels or "") not in samples
            samples[name + (labels or "")] = float(value)
    return samples


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers(tmp_path_factory.mktemp("pages")) as start:
        yield start(PLAIN + '[server]\nname = "lighthouse"\n[sys_topics]\ninterval = 0.2\n')


def test_the_metrics_are_what_prometheus_reads_and_count_what_happens(server: RunningServer) -> None:
    before = parse_metrics(server.page("/metrics"))
    with PlainClient(server.port).connected() as client:
        client.subscribe("counted")
        client.send(Publish("counted", b"1"), Publish("counted", b"2"))
        client.receive()
        client.receive()
        after = parse_metrics(server.page("/metrics"))
    grown = {name: after[name] - before[name] for name in after}
    assert grown["heliograph_clients_connected"] == 1
    assert grown["heliograph_subscriptions"] == 1
    assert grown["heliograph_messages_received_total"] == 2
    assert grown["heliograph_messages_sent_total"] >= 2
    assert grown["heliograph_received_bytes_total"] > 20
    assert grown["heliograph_sent_bytes_total"] > 20
    assert after[f'heliograph_info{{version="{__version__}"}}'] == 1


def test_the_statistics_tell_of_the_server_and_of_what_happens(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as client:
        client.send(Publish("kept", b"12345", retain=True))
        client.publish("other")
        figures = server.stats()
        client.send(Publish("kept", b"", retain=True))
    assert figures["server"]["name"] == "lighthouse"
    assert figures["server"]["version"] == __version__
    assert figures["clients"]["connected"] == 1
    assert figures["retained"]["count"] > 0


def test_subscriptions_that_had_to_wait_are_listed(server: RunningServer) -> None:
    with PlainClient(server.port).connected("away", clean_start=False, properties={"session_expiry_interval": 60}) as c:
        c.subscribe("waiting", qos=1)
    with PlainClient(server.port).connected() as client:
        server.wait_until(lambda figures: figures["clients"]["connected"] == 1)
        for _ in range(3):
            client.publish("waiting")
    (listed,) = json.loads(server.page("/subscriptions"))
    assert listed == {
        "client": "away",
        "filter": "waiting",
        "connected": False,
        "sent": 0,
        "durable": True,
        "buffered": 3,
        "high_water": 3,
        "rejected": 0,
        "discarded": 0,
        "expired": 0,
    }


def test_health(server: RunningServer) -> None:
    assert json.loads(server.page("/healthz")) == {"status": "ok"}


def test_the_first_page_leads_to_the_others(server: RunningServer) -> None:
    for path in re.findall('href="([^"]+)"', server.page("/")):
        assert server.page(path)


def test_figures_are_published_below_sys_and_renewed(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as client:
        client.subscribe("$SYS/#")
        seen: dict[str, bytes] = {}
        uptimes = set()
        while len(uptimes) < 2 or "$SYS/broker/load/connections/1min" not in seen:
            message = client.receive()
            assert isinstance(message, Publish)
            seen[message.topic] = message.payload
            uptimes.add(seen.get("$SYS/broker/uptime"))
    assert seen["$SYS/broker/version"] == f"heliograph version {__version__}".encode()
    assert int(seen["$SYS/broker/clients/connected"]) >= 0


def test_everything_does_not_include_sys(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as client, PlainClient(server.port).connected() as other:
        client.subscribe("#")
        other.subscribe("$SYS/broker/uptime")
        other.receive()
        other.receive()  # a renewed figure, which the first one would have got by now
        client.send(Publish("mine"))
        assert client.receive() == Publish("mine")
