"""aiomqtt, paho in asyncio's clothes: many at once in one program."""

import asyncio
import ssl
from collections.abc import Coroutine
from typing import Any

import aiomqtt
import pytest

from certificates import Authority
from running import PATIENCE, RunningServer

MANY = 60


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE))


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_many_clients_at_once_get_each_others_messages(server: RunningServer, topic: str, qos: int) -> None:
    async def client(number: int, all_subscribed: asyncio.Barrier) -> set[bytes]:
        async with aiomqtt.Client("127.0.0.1", server.port, identifier=f"aiomqtt-{number}") as mqtt:
            await mqtt.subscribe(f"{topic}/#", qos)
            await all_subscribed.wait()
            await mqtt.publish(f"{topic}/{number}", b"%d" % number, qos)
            received: set[bytes] = set()
            async for message in mqtt.messages:
                assert isinstance(message.payload, bytes)
                received.add(message.payload)
                if len(received) == MANY:
                    break
            return received

    async def scenario() -> None:
        all_subscribed = asyncio.Barrier(MANY)
        for received in await asyncio.gather(*[client(number, all_subscribed) for number in range(MANY)]):
            assert received == {b"%d" % number for number in range(MANY)}

    run(scenario())


def test_over_tls_and_websocket(server: RunningServer, authority: Authority, topic: str) -> None:
    async def scenario() -> None:
        context = ssl.create_default_context(cafile=authority.cert)
        async with (
            aiomqtt.Client("localhost", server.port_of("mqtts"), tls_context=context) as sender,
            aiomqtt.Client("localhost", server.port_of("wss"), tls_context=context, transport="websockets") as receiver,
        ):
            await receiver.subscribe(topic, 1)
            for number in range(100):
                await sender.publish(topic, b"%d" % number + bytes(5000), 1)
            number = 0
            async for message in receiver.messages:
                assert message.payload == b"%d" % number + bytes(5000)
                number += 1
                if number == 100:
                    break

    run(scenario())
