"""paho-mqtt for tests: the same library as everybody's, with waiting instead of callbacks."""

import queue
import ssl
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from running import PATIENCE

V31, V311, V5 = paho.MQTTv31, paho.MQTTv311, paho.MQTTv5
VERSIONS = {"3.1": V31, "3.1.1": V311, "5": V5}


def properties(kind: int, **values: Any) -> Properties:
    """Properties for a packet of this type, by the names that paho gives them."""
    made = Properties(kind)
    for name, value in values.items():
        setattr(made, name, value)
    return made


class PahoClient:
    """One client with its network thread."""

    def __init__(
        self,
        version: int = V5,
        client_id: str = "",
        *,
        clean: bool = True,
        transport: Any = "tcp",
        context: ssl.SSLContext | None = None,
        keep_alive: int = 60,
    ) -> None:
        self.version = version
        self._keep_alive = keep_alive
        self._clean = clean
        options = {} if version == V5 else {"clean_session": clean or not client_id}
        self.client = paho.Client(
            paho.CallbackAPIVersion.VERSION2,
            client_id or ("somebody" if version == V31 else ""),
            protocol=version,
            transport=transport,
            reconnect_on_failure=False,
            **options,
        )
        self.client.max_inflight_messages_set(100)
        if context is not None:
            self.client.tls_set_context(context)
        self._connected: queue.Queue[Any] = queue.Queue()
        self._ended: queue.Queue[Any] = queue.Queue()
        self._granted: queue.Queue[Any] = queue.Queue()
        self._messages: queue.Queue[paho.MQTTMessage] = queue.Queue()
        self.client.on_connect = lambda *said: self._connected.put(said[2:])
        self.client.on_disconnect = lambda *said: self._ended.put(said[3])
        self.client.on_subscribe = lambda *said: self._granted.put([reason.value for reason in said[3]])
        self.client.on_unsubscribe = lambda *said: self._granted.put([reason.value for reason in said[3]])
        self.client.on_message = lambda *said: self._messages.put(said[2])

    def connect(self, port: int, host: str = "127.0.0.1", **more: Any) -> Self:
        """Connect, which must succeed; `more` are properties of CONNECT."""
        options: dict[str, Any] = {}
        if self.version == V5:
            options = {"clean_start": self._clean, "properties": properties(PacketTypes.CONNECT, **more)}
        self.client.connect(host, port, self._keep_alive, **options)
        self.client.loop_start()
        self.flags, self.reason, self.told = self._connected.get(timeout=PATIENCE)
        assert self.reason == 0
        return self

    def subscribe(self, topic: Any, qos: int = 0, **more: Any) -> list[int]:
        """Subscribe; what was granted."""
        self.client.subscribe(topic, qos, **more)
        granted: list[int] = self._granted.get(timeout=PATIENCE)
        return granted

    def unsubscribe(self, topic: str) -> None:
        self.client.unsubscribe(topic)
        self._granted.get(timeout=PATIENCE)

    def publish(self, topic: str, payload: bytes = b"", qos: int = 0, *, retain: bool = False, **more: Any) -> None:
        """Publish, and wait until that is done; `more` are properties of PUBLISH."""
        told = properties(PacketTypes.PUBLISH, **more) if self.version == V5 else None
        self.client.publish(topic, payload, qos, retain, told).wait_for_publish(PATIENCE)

    def message(self) -> paho.MQTTMessage:
        """The next message."""
        return self._messages.get(timeout=PATIENCE)

    def payloads(self, count: int) -> list[bytes]:
        """The payloads of the next messages."""
        return [self.message().payload for _ in range(count)]

    def ended(self) -> int:
        """The reason why the connection ended, once it has."""
        reason: int = self._ended.get(timeout=PATIENCE).value
        return reason

    def drop(self) -> None:
        """Lose the connection without a farewell."""
        self.client.loop_stop()
        connection = self.client.socket()
        assert connection is not None
        connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.disconnect()
        self.client.loop_stop()
