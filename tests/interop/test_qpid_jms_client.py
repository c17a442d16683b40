"""Qpid JMS itself. Each test is a JUnit method in tests/interop/java, which sees the server as a Java program does."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from certificates import Authority
from faults.brokers import Heliograph, free_port
from interop.conftest import PASSWORD, USER
from interop.java_client import JavaRunner, cases, java, key_store, trust_store
from running import Lines, RunningServer

RESTARTS = 3


@pytest.fixture(scope="module")
def runner(
    amqp_server: RunningServer, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaRunner]:
    folder = tmp_path_factory.mktemp("stores")
    runner = JavaRunner(
        user=USER,
        password=PASSWORD,
        tls=f"amqps://localhost:{amqp_server.port_of('amqps')}",
        ws=f"amqpws://127.0.0.1:{amqp_server.port_of('ws')}/amqp",
        trust=str(trust_store(folder, authority.cert)),
        keys=str(key_store(folder, authority.issue(USER, "java-client"))),
    )
    yield runner
    runner.close()


@pytest.mark.parametrize("case", cases())
def test_java(case: str, runner: JavaRunner, amqp_server: RunningServer, define: Callable[..., str]) -> None:
    own = define(f"java.{case.replace(' ', '.')}"[:40])
    define(f"{own}.small", max_depth=10)
    runner.run(case, f"amqp://127.0.0.1:{amqp_server.port_of('amqp')}", own)


@pytest.mark.parametrize("mode", ["acknowledged", "transacted"])
def test_failover_over_restarts_under_load_loses_nothing(mode: str, tmp_path: Path) -> None:
    port = free_port()
    more = f'[[listener]]\nprotocol = "amqp"\nport = {port}\n[[queue]]\nname = "orders"\n'
    broker = Heliograph(tmp_path, more=more)
    broker.start()
    url = f"failover:(amqp://127.0.0.1:{port})?failover.maxReconnectDelay=200&failover.initialReconnectDelay=20"
    process = subprocess.Popen(
        java("Failover", url, "orders", mode), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdin
    lines = Lines(process.stdout)
    try:
        for restart in range(RESTARTS):
            lines.wait_for("received ", (restart + 1) * 50)
            broker.kill() if restart % 2 else broker.stop()
            broker.start()
        lines.wait_for("received ", (RESTARTS + 1) * 50)
        process.stdin.close()
        lines.wait_for("done")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        lines.close()
        broker.stop()
    said = [line.split() for line in lines.text().splitlines()]
    sent = [words[1] for words in said if words[0] == "sent"]
    received = [words[1] for words in said if words[0] == "received"]
    maybe = {words[1] for words in said if words[0] == "maybe"}
    assert set(sent) <= set(received) | maybe, "messages were lost"
