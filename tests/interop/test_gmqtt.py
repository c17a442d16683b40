"""gmqtt, an asyncio client with a codec of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import gmqtt
import pytest
from gmqtt.mqtt.constants import MQTTv50, MQTTv311

from running import PATIENCE, RunningServer

EVERY_VERSION = pytest.mark.parametrize("version", [MQTTv311, MQTTv50], ids=["3.1.1", "5"])


class Client:
    """One client with what it has received."""

    def __init__(self, client_id: str, **options: Any) -> None:
        self.client = gmqtt.Client(client_id, **options)
        self.messages: asyncio.Queue[tuple[str, bytes, int, dict[str, Any]]] = asyncio.Queue()
        self._granted: asyncio.Queue[Any] = asyncio.Queue()
        self.client.on_message = self._on_message
        self.client.on_subscribe = lambda _client, _mid, granted, _properties: self._granted.put_nowait(granted)

    def _on_message(self, _client: Any, topic: str, payload: bytes, qos: int, properties: dict[str, Any]) -> int:
        self.messages.put_nowait((topic, payload, qos, properties))
        return 0

    async def subscribe(self, topic: str, qos: int, **options: Any) -> tuple[int, ...]:
        self.client.subscribe(topic, qos, **options)
        granted: tuple[int, ...] = await self._granted.get()
        return granted

    async def received(self, count: int) -> list[bytes]:
        return [(await self.messages.get())[1] for _ in range(count)]


def talk(scenario: Callable[[Client], Awaitable[None]], server: RunningServer, version: int, **options: Any) -> None:
    """Connect a client and run a scenario with it."""

    async def run() -> None:
        client = Client("gmqtt", **options)
        async with asyncio.timeout(PATIENCE):
            await client.client.connect("127.0.0.1", server.port, version=version)
            try:
                await scenario(client)
            finally:
                await client.client.disconnect()

    asyncio.run(run())


@EVERY_VERSION
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_both_ways(server: RunningServer, topic: str, version: int, qos: int) -> None:
    async def scenario(client: Client) -> None:
        assert await client.subscribe(topic, qos) == (qos,)
        for number in range(100):
            client.client.publish(topic, b"%d" % number, qos=qos)
        assert await client.received(100) == [b"%d" % number for number in range(100)]

    talk(scenario, server, version)


@EVERY_VERSION
def test_retained_messages(server: RunningServer, topic: str, version: int) -> None:
    async def scenario(client: Client) -> None:
        client.client.publish(topic, b"kept", qos=1, retain=True)
        await client.subscribe(topic, 1)
        name, payload, _, properties = await client.messages.get()
        assert (name, payload, properties["retain"]) == (topic, b"kept", 1)
        client.client.publish(topic, b"", qos=1, retain=True)
        assert (await client.messages.get())[1] == b""

    talk(scenario, server, version)


def test_properties_of_a_message_arrive(server: RunningServer, topic: str) -> None:
    async def scenario(client: Client) -> None:
        await client.subscribe(topic, 1, subscription_identifier=42)
        client.client.publish(
            topic, b"", qos=1, user_property=("a", "b"), content_type="text/plain", response_topic="answers",
            correlation_data=b"7",
        )  # fmt: skip
        _, _, _, properties = await client.messages.get()
        assert properties["user_property"] == [("a", "b")]
        assert properties["content_type"] == ["text/plain"]
        assert properties["response_topic"] == ["answers"]
        assert properties["correlation_data"] == [b"7"]
        assert properties["subscription_identifier"] == [42]

    talk(scenario, server, MQTTv50)


def test_topic_aliases_towards_the_client(server: RunningServer, topic: str) -> None:
    async def scenario(client: Client) -> None:
        await client.subscribe(f"{topic}/+", 1)
        for number in range(20):  # more topics than aliases, each twice
            for _ in range(2):
                client.client.publish(f"{topic}/{number}", b"", qos=1)
        names = [(await client.messages.get())[0] for _ in range(40)]
        assert names == [f"{topic}/{number // 2}" for number in range(40)]

    talk(scenario, server, MQTTv50, topic_alias_maximum=10)
