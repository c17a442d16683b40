"""The client with asyncio: many messages on their way at once, and a consumer beside them.

helio serve --config examples/queues.toml
python examples/asyncio_client.py [URL]
"""

import asyncio
import sys

from heliograph.client.aio import Connection, connect

COUNT = 1000


async def produce(connection: Connection) -> None:
    session = await connection.session()
    producer = await session.producer("orders", persistent=False)
    # `send_async` waits only while too much is on its way; the receipts tell when the server has accepted.
    receipts = [await producer.send_async({"number": number}) for number in range(COUNT)]
    await asyncio.gather(*receipts)


async def consume(connection: Connection) -> int:
    session = await connection.session()
    consumer = await session.consumer("orders")
    total = 0
    async for message in consumer:
        total += message.body["number"]
        if message.body["number"] == COUNT - 1:
            break
    return total


async def main(url: str) -> None:
    async with connect(url) as connection:
        total, _ = await asyncio.gather(consume(connection), produce(connection))
        print("the numbers add up to", total)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1:5672"))
