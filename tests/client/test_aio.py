"""The asyncio face, over sockets."""

import asyncio
import logging

import pytest

from client.small_broker import Broker, serving
from heliograph.client import Message, aio
from heliograph.client.core.producer import WINDOW
from heliograph.client.errors import ConnectionLost, IllegalState, TransactionRolledBack

PATIENCE = 20.0


def run(steps):
    """Run a test's coroutine with a broker: it gets the broker and its URL."""

    async def with_broker():
        broker = Broker()
        async with asyncio.timeout(PATIENCE), serving(broker) as port:
            await steps(broker, f"amqp://127.0.0.1:{port}")

    asyncio.run(with_broker())


def test_a_message_there_and_back():
    async def steps(broker, url):
        async with aio.connect(url) as connection, await connection.session() as session:
            producer = await session.producer("q")
            await producer.send(Message("hello", type="greeting"))
            consumer = await session.consumer("q")
            message = await consumer.receive(PATIENCE)
            assert (message.body, message.type) == ("hello", "greeting")
            assert await consumer.receive_nowait() is None

    run(steps)


def test_a_connection_can_be_awaited():
    async def steps(broker, url):
        connection = await aio.connect(url)
        await connection.close()
        with pytest.raises(IllegalState, match="closed"):
            await connection.session()

    run(steps)


def test_iterating():
    async def steps(broker, url):
        async with aio.connect(url) as connection:
            session = await connection.session()
            producer, consumer = await session.producer("q"), await session.consumer("q")
            for number in range(3):
                await producer.send(number)
            bodies = []
            async for message in consumer:
                bodies.append(message.body)
                if len(bodies) == 3:
                    await consumer.close()
            assert bodies == [0, 1, 2]

    run(steps)


def test_sending_without_waiting_waits_only_for_room():
    async def steps(broker, url):
        broker.credit = 1000
        async with aio.connect(url) as connection:
            producer = await (await connection.session()).producer("q")
            receipts = [await producer.send_async(number) for number in range(WINDOW + 100)]
            await asyncio.gather(*receipts)
            assert all(receipt.done() for receipt in receipts)
        assert broker.bodies("q") == list(range(WINDOW + 100))

    run(steps)


def test_a_receive_that_is_cancelled_loses_nothing():
    async def steps(broker, url):
        async with aio.connect(url) as connection:
            session = await connection.session()
            producer, consumer = await session.producer("q"), await session.consumer("q")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(consumer.receive(), 0.01)
            await producer.send("m")
            assert (await consumer.receive(PATIENCE)).body == "m"

    run(steps)


def test_units_of_work_and_browsing():
    async def steps(broker, url):
        async with aio.connect(url) as connection:
            session = await connection.session("transacted")
            producer = await session.producer("q")
            await producer.send("no")
            await session.rollback()
            await producer.send("yes")
            await session.commit()
            browser = await session.browser("q")
            assert [message.body async for message in browser] == ["yes"]

    run(steps)


def test_listeners_may_be_coroutines_and_what_they_fail_with_comes_again(caplog):
    caplog.set_level(logging.CRITICAL, "heliograph.client")

    async def steps(broker, url):
        async with aio.connect(url) as connection:
            session = await connection.session()
            producer, consumer = await session.producer("q"), await session.consumer("q")
            seen, done = [], asyncio.Event()

            async def listen(message):
                await asyncio.sleep(0)
                seen.append((message.body, message.delivery_count))
                if len(seen) == 1:
                    raise ValueError
                done.set()

            consumer.listen(listen)
            await producer.send("m")
            await done.wait()
            assert seen == [("m", 1), ("m", 2)]

    run(steps)


def test_requests_side_by_side():
    async def steps(broker, url):
        async with aio.connect(url) as connection:
            answering = await connection.session()
            replies = await answering.producer()

            async def answer(request):
                reply = Message(request.body + 1, correlation_id=request.correlation_id)
                await replies.send(reply, request.reply_to)

            (await answering.consumer("service")).listen(answer)
            session = await connection.session()
            found = await asyncio.gather(*(session.request("service", number, PATIENCE) for number in range(5)))
            assert [reply.body for reply in found] == [1, 2, 3, 4, 5]
            await answering.close()

    run(steps)


def test_everything_goes_on_when_the_server_is_back():
    async def steps(_, __):
        broker = Broker()
        restored = asyncio.Event()

        async def on_restored(url):
            restored.set()

        async with serving(broker) as port:
            connection = await aio.connect(f"amqp://127.0.0.1:{port}", on_restored=on_restored)
            session = await connection.session()
            unit = await connection.session("transacted")
            producer, consumer = await session.producer("q"), await session.consumer("q")
            await (await (await unit.producer("q")).send_async("lost"))
        receipt = await producer.send_async("kept")
        async with serving(broker, port):
            await receipt
            assert (await consumer.receive(PATIENCE)).body == "kept"
            await restored.wait()
            with pytest.raises(TransactionRolledBack):
                await unit.commit()
            await connection.close()

    run(steps)


def test_a_server_that_is_not_there():
    async def steps(broker, url):
        with pytest.raises(ConnectionLost, match="cannot connect"):
            await aio.connect("amqp://127.0.0.1:1")

    run(steps)


def test_subscriptions_and_temporary_things():
    async def steps(broker, url):
        async with aio.connect(url, client_id="me") as connection, await connection.session("client") as session:
            place = await session.temporary_queue()
            await (await session.producer(place)).send("m")
            message = await (await session.consumer(place)).receive(PATIENCE)
            await session.recover()
            message.acknowledge()
            await session.delete(place)
            await session.temporary_topic()
            await (await session.consumer("topic://news", subscription="mine", durable=True)).close()
            await session.unsubscribe("mine")
            assert broker.subscriptions == {}

    run(steps)
