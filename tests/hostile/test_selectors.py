"""Selectors that take long for each message: nobody else is held up by them."""

from collections.abc import Iterator

import pytest

from configurations import BOTH
from heliograph.client import Message, connect
from heliograph.errors import Problem
from hostile.bystander import PATIENT, Bystander
from running import RunningServer, servers

CONFIG = f"""{BOTH}
[[queue]]
name = "q"
"""
LONG = "a" * 3_500_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers(tmp_path_factory.mktemp("selectors")) as start:
        yield start(CONFIG)


@pytest.mark.parametrize(
    "pattern", ["%" + "_" * 5000 + "x%", "%" + "a_" * 2500 + "b%", "%" + "a" * 5000 + "b%"], ids=["any", "some", "same"]
)
def test_a_long_property_and_a_long_pattern_hold_nobody_up(server: RunningServer, pattern: str) -> None:
    with (
        connect(server.url("amqp")) as connection,
        connection.session() as session,
        session.consumer("q", selector=f"p LIKE '{pattern}'") as selecting,
        Bystander(server.port, pid=server.process.pid) as bystander,
    ):
        session.producer("q").send(Message("long", properties={"p": LONG}))
        assert selecting.receive(timeout=0.5) is None
        bystander.count = 0
        server.wait_until(lambda _: bystander.count > 5)
    assert bystander.worst < PATIENT


def test_a_selector_that_costs_too_much_is_refused(server: RunningServer) -> None:
    with (
        connect(server.url("amqp")) as connection,
        connection.session() as session,
        pytest.raises(Problem, match="at most 2000 names and values"),
    ):
        session.consumer("q", selector=" OR ".join(["a LIKE '_'"] * 182))
