"""Long lists of what there is, for operators and for clients that ask."""

from heliograph.client import connect
from heliograph.client.management import management
from hostile.stalling import CONFIG, bystander
from running import Serve

QUEUES = 4000


def test_thousands_of_queues_are_listed(serve: Serve) -> None:
    server = serve(CONFIG + "".join(f'[[queue]]\nname = "many.{index}"\n' for index in range(QUEUES)))
    with bystander(server):
        assert len(server.stats()["queues"]["named"]) > QUEUES
        assert server.page("/metrics").count("heliograph_queue_messages{") > QUEUES
        with connect(server.url("amqp")) as connection, connection.session() as session:
            assert len(management(session, "queue-list", pattern="many.*")) == QUEUES
