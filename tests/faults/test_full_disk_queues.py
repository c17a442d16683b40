"""A disk without room, and queues: what must be stored is refused or waits, the rest goes on, and all recovers."""

import pytest

from configurations import AMQP
from faults.small_disks import SmallDisk
from heliograph.client import Message, Session, connect
from heliograph.client.errors import ResourceLimit, TransactionRolledBack
from running import PATIENCE, RunningServer, Serve

CONFIG = f"""{AMQP}
[[queue]]
name = "orders"
topics = ["shop/#"]
[[queue]]
name = "bills"
[[queue]]
name = "aside"
[storage]
directory = "{{0}}"
"""


def bodies(session: Session, queue: str, least: int = 0) -> list[str]:
    """All that is in a queue, for good; so many at least are waited for."""
    consumer = session.consumer(queue)
    found: list[str] = []
    while (message := consumer.receive(PATIENCE if len(found) < least else 0.3)) is not None:
        found.append(message.body[-10:])
    consumer.close()
    return found


def depth(session: Session, queue: str) -> int:
    request = Message({"name": queue}, properties={"operation": "queue-show"})
    return int(session.request("$management", request, timeout=PATIENCE).body["depth"])


def write_all_down(session: Session) -> None:
    """Return when nothing is on its way to the disk: what came before an acknowledged message is as safe as it is."""
    session.producer("aside").send("so far")


def run_out_of_room(server: RunningServer, disk: SmallDisk, session: Session) -> object:
    """Fill the disk, and let the server notice by a message that it can only leave waiting; its receipt."""
    write_all_down(session)  # or it may notice before that message, and refuse it
    disk.fill(server)
    receipt = session.producer("orders").send_async("." * 20_000 + "waits")
    server.log.wait_for("messages cannot be stored")
    assert not receipt.done()
    return receipt


def test_without_room_persistent_messages_are_refused_and_others_go_on(serve: Serve, disk: SmallDisk) -> None:
    server = serve(CONFIG.format(disk.folder))
    with connect(server.url("amqp")) as connection, connection.session() as session:
        orders, topic = session.producer("orders"), session.producer("topic://shop/chairs")
        orders.send("before")
        receipt = run_out_of_room(server, disk, session)
        for producer in (orders, topic):
            with pytest.raises(ResourceLimit, match="cannot be stored at present") as refusal:
                producer.send("refused")
            assert refusal.value.condition == "amqp:resource-limit-exceeded"
        bills = session.producer("bills", persistent=False)
        bills.send("passing")
        assert session.consumer("bills").receive(PATIENCE).body == "passing"
        topic.send("in memory", persistent=False)
        disk.make_room(server)
        receipt.result(PATIENCE)
        server.log.wait_for("messages can be stored again")
        orders.send("after")
        assert depth(session, "orders") == 4
    server.kill()
    again = serve(CONFIG.format(disk.folder))
    with connect(again.url("amqp")) as connection, connection.session() as session:
        assert bodies(session, "orders") == ["before", ".....waits", "after"]


def test_without_room_units_of_work_are_rolled_back(serve: Serve, disk: SmallDisk) -> None:
    server = serve(CONFIG.format(disk.folder))
    with connect(server.url("amqp")) as connection, connection.session() as plain:
        plain.producer("orders").send("order")
        work = connection.session("transacted")
        consumer, producer = work.consumer("orders"), work.producer("bills")
        assert consumer.receive(PATIENCE).body == "order"
        producer.send_async("bill").result(PATIENCE)
        run_out_of_room(server, disk, plain)
        with pytest.raises(TransactionRolledBack, match="cannot be stored at present"):
            work.commit()
        # What is done in the next one is refused at once, and its commit too.
        again = consumer.receive(PATIENCE)
        assert (again.body, again.delivery_count) == ("order", 2)
        producer.send("bill")
        with pytest.raises(TransactionRolledBack, match="cannot be stored at present"):
            work.commit()
        # A unit of work that need not be stored is done.
        producer.send("receipt", persistent=False)
        work.commit()
        disk.make_room(server)
        server.log.wait_for("messages can be stored again")
        assert consumer.receive(PATIENCE).body == "order"
        producer.send("bill")
        work.commit()
        work.close()
        assert bodies(plain, "bills") == ["receipt", "bill"]
        assert bodies(plain, "orders", 1) == [".....waits"]
        assert depth(plain, "orders") == depth(plain, "bills") == 0
        write_all_down(plain)
    server.kill()
    restarted = serve(CONFIG.format(disk.folder))
    with connect(restarted.url("amqp")) as connection, connection.session() as session:
        assert bodies(session, "bills") == []
