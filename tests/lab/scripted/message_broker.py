"""A small MQTT broker in a thread that does with every message what a script says: for testing those who count."""

import heapq
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Self

from heliograph.lab.load import payloads
from heliograph.mqtt import decode, encode, packet_bounds, packets, split_share, topic_matches

Script = Callable[[int, int], list[int]]
"""Given sender and sequence of a message: how many later ones each copy of it lets go first; no copies: lost."""


def faithful(_sender: int, _sequence: int) -> list[int]:
    """Deliver at once, and once."""
    return [0]


class MessageBroker:
    """Forwards what is published to who has subscribed; members of a share take turns."""

    def __init__(self, script: Script = faithful, *, age: int = 0, delay: float = 0.0, hang_up_at: int = 0) -> None:
        """Messages are to look `age` ns older than they are; each is kept for `delay` seconds.

        Whoever sends message number `hang_up_at` to this broker loses its connection.
        """
        self._hang_up_at = hang_up_at
        self._age = age
        self._delay = round(delay * 1e9)
        self.received: Counter[int] = Counter()  # messages by sender
        self._held: list[tuple[int, int, packets.Publish]] = []  # sender, the sequence to wait for, and a message
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self._stop, self._stopped = socket.socketpair()
        self._poller = select.epoll()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._clients: dict[int, socket.socket] = {}
        self._versions: dict[int, int] = {}
        self._rest: dict[int, bytes] = {}
        self._filters: list[tuple[int, str | None, str]] = []
        self._turns: dict[str, int] = {}
        self._ids: dict[int, int] = {}
        self._later: list[tuple[int, int, packets.Publish]] = []
        self._order = count()

    def __enter__(self) -> Self:
        for sock in (self._listener, self._stopped):
            self._poller.register(sock.fileno(), select.EPOLLIN)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.close()
        self._thread.join()
        for sock in (*self._clients.values(), self._listener, self._stopped):
            sock.close()
        self._poller.close()

    def _serve(self) -> None:
        while True:
            wait = min(0.05, (self._later[0][0] - time.monotonic_ns()) / 1e9) if self._later else 0.05
            if wait > 0:
                select.select((self._poller.fileno(),), (), (), wait)
            for fd, _ in self._poller.poll(0):
                if fd == self._stopped.fileno():
                    return
                if fd == self._listener.fileno():
                    client, _address = self._listener.accept()
                    self._clients[client.fileno()] = client
                    self._rest[client.fileno()] = b""
                    self._poller.register(client.fileno(), select.EPOLLIN)
                else:
                    self._read(fd)
            while self._later and self._later[0][0] <= time.monotonic_ns():
                self._deliver(heapq.heappop(self._later)[2])

    def _read(self, fd: int) -> None:
        try:
            data = self._clients[fd].recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._hang_up(fd)
            return
        data = self._rest[fd] + data
        at = 0
        while at < len(data) and (bounds := packet_bounds(data, at, 1 << 24)) and bounds[1] <= len(data):
            packet = decode(data[at], data[bounds[0] : bounds[1]], self._versions.get(fd, 4))
            at = bounds[1]
            self._handle(fd, packet)
            if fd not in self._clients:
                return
        self._rest[fd] = data[at:]

    def _hang_up(self, fd: int) -> None:
        self._poller.unregister(fd)
        self._clients.pop(fd).close()
        self._filters = [one for one in self._filters if one[0] != fd]

    def _say(self, fd: int, packet: packets.Packet) -> None:
        if fd in self._clients:
            with suppress(ConnectionError):  # who is gone is seen when it is read
                self._clients[fd].sendall(encode(packet, self._versions[fd]))

    def _handle(self, fd: int, packet: packets.Packet) -> None:
        if isinstance(packet, packets.Connect):
            self._versions[fd] = packet.version
            self._say(fd, packets.ConnAck())
        elif isinstance(packet, packets.Subscribe):
            for one in packet.subscriptions:
                share, name = split_share(one.filter)
                self._filters.append((fd, share, name))
            self._say(fd, packets.SubAck(packet.packet_id, tuple(one.qos for one in packet.subscriptions)))
        elif isinstance(packet, packets.Publish):
            self._publish(packet)
            if self.received.total() == self._hang_up_at:
                self._hang_up(fd)
            if packet.qos == 1:
                self._say(fd, packets.PubAck(packet.packet_id))
            elif packet.qos == 2:
                self._say(fd, packets.PubRec(packet.packet_id))
        elif isinstance(packet, packets.PubRel):
            self._say(fd, packets.PubComp(packet.packet_id))
        elif isinstance(packet, packets.PubRec):
            self._say(fd, packets.PubRel(packet.packet_id))

    def _publish(self, packet: packets.Publish) -> None:
        _, _, sender, sequence, _, _ = payloads.HEADER.unpack_from(packet.payload)
        self.received[sender] += 1
        for later in self._script(sender, sequence):
            if later:
                self._held.append((sender, sequence + later, packet))
            else:
                self._send(packet)
        for held in [one for one in self._held if one[0] == sender and one[1] <= sequence]:
            self._held.remove(held)
            self._send(held[2])

    def _send(self, packet: packets.Publish) -> None:
        if self._delay:
            heapq.heappush(self._later, (time.monotonic_ns() + self._delay, next(self._order), packet))
        else:
            self._deliver(packet)

    def _receivers(self, topic: str) -> list[int]:
        plain = [fd for fd, share, name in self._filters if share is None and topic_matches(name, topic)]
        shares: dict[str, list[int]] = {}
        for fd, share, name in self._filters:
            if share is not None and topic_matches(name, topic):
                shares.setdefault(share, []).append(fd)
        for share, members in shares.items():
            self._turns[share] = self._turns.get(share, -1) + 1
            plain.append(members[self._turns[share] % len(members)])
        return plain

    def _deliver(self, packet: packets.Publish) -> None:
        magic, group, sender, sequence, due, sent = payloads.HEADER.unpack_from(packet.payload)
        mark = payloads.HEADER.pack(magic, group, sender, sequence, due, max(0, sent - self._age))
        payload = mark + packet.payload[payloads.HEADER_SIZE :]
        for fd in self._receivers(packet.topic):
            self._ids[fd] = self._ids.get(fd, 0) % 65535 + 1
            self._say(fd, replace(packet, payload=payload, packet_id=self._ids[fd] if packet.qos else 0))
