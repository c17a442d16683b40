"""The first look into a deep queue after a restart: to find its messages in the log takes long."""

from pathlib import Path

import pytest

from heliograph.client import connect
from heliograph.client.management import management
from hostile.stalling import CONFIG, LONG, bystander, depth, fill
from running import RunningServer, Serve

MANY = 120_000


@pytest.fixture
def restarted(serve: Serve, tmp_path: Path) -> RunningServer:
    """A server that knows nothing yet of a deep queue but its depth."""
    config = CONFIG + f'[storage]\ndirectory = "{tmp_path}/log"\ndurability = "memory"\n'
    server = serve(config)
    fill(server, MANY, durable=True)
    server.stop()
    return serve(config)


def test_a_deep_queue_is_consumed_after_a_restart(restarted: RunningServer) -> None:
    with bystander(restarted), connect(restarted.url("amqp")) as connection, connection.session() as session:
        assert session.consumer("q").receive(timeout=LONG) is not None


def test_a_deep_queue_is_purged_after_a_restart(restarted: RunningServer) -> None:
    with bystander(restarted), connect(restarted.url("amqp")) as connection, connection.session() as session:
        assert management(session, "queue-purge", name="q")["purged"] == MANY
    assert depth(restarted.stats()) == 0
