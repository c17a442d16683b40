"""How fast the load generator itself is: `helio bench generator`.

There is no broker. A process of its own accepts MQTT connections and only reads and discards, or sends packets from
memory as fast as they are taken. So the figures are those of the generator alone: how many messages one of its
processes sends, how many it receives and accounts for, and how late it sends them.
"""

import os
import select
import socket
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np

from heliograph.lab.load.load_run import run_load
from heliograph.lab.load.meter import LoadOutcome
from heliograph.lab.load.mqtt.template import MqttTemplate
from heliograph.lab.load.plan import Address, Group, Plan

_CONNACK, _SUBACK = b"\x20\x02\x00\x00", b"\x90\x03\x00\x01\x00"
GOAL_RATE = 2_000_000.0  # messages per second of one process
# The kernel charges the wake-up of a receiver to the sender. Ten thousand wake-ups a second would be most
# of what is measured, so the peer reads in turns, as brokers do.
_NAP = 0.001  # seconds
_SENDERS = Group("source", "publish", 1, destination="bench", rate=0.0)


class _Peer:
    """Answers CONNECT and SUBSCRIBE, and discards everything else; feeds subscribers if `feeds` is set."""

    def __init__(self, feeds: bool) -> None:
        self._feeds = feeds
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._poller = select.epoll()
        self._clients: dict[int, socket.socket] = {}
        self._fed: dict[int, int] = {}  # messages that each subscriber has been sent
        self._rest: dict[int, memoryview] = {}
        self._buffer = memoryview(bytearray(1 << 20))
        self._template = MqttTemplate(_SENDERS, 1, 4, 1)
        self._forms = self._template.forms(0)

    def serve(self, pipe: Connection) -> None:
        """Until the other end of the pipe is closed."""
        pipe.send(self._listener.getsockname()[1])
        self._poller.register(self._listener.fileno(), select.EPOLLIN)
        self._poller.register(pipe.fileno(), select.EPOLLIN)
        while True:
            for fd, mask in self._poller.poll():
                if fd == pipe.fileno():
                    return
                if fd == self._listener.fileno():
                    self._accept()
                elif mask & select.EPOLLOUT:
                    self._feed(fd)
                elif mask & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    self._read(fd)
            if not self._feeds:
                time.sleep(_NAP)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setblocking(False)
        self._clients[client.fileno()] = client
        self._poller.register(client.fileno(), select.EPOLLIN)

    def _read(self, fd: int) -> None:
        try:
            size = self._clients[fd].recv_into(self._buffer)
        except ConnectionError:
            size = 0
        if not size:
            self._poller.unregister(fd)
            self._clients.pop(fd).close()
            return
        first = self._buffer[0]
        if first == 0x10:
            self._clients[fd].send(_CONNACK)
        elif first == 0x82:
            self._clients[fd].send(_SUBACK)
            if self._feeds:
                self._fed[fd] = 0
                self._poller.modify(fd, select.EPOLLIN | select.EPOLLOUT)

    def _feed(self, fd: int) -> None:
        data = self._rest.pop(fd, None)
        try:
            if data is None:
                now = time.monotonic_ns()
                due = np.full(self._template.batch, now)
                data = memoryview(bytes(self._template.make(self._forms, 0, self._fed[fd], due, now, None)))
                self._fed[fd] += self._template.batch
            sent = self._clients[fd].send(data)
            if sent < len(data):
                self._rest[fd] = data[sent:]
        except ConnectionError:
            self._poller.modify(fd, select.EPOLLIN)


def _peer(pipe: Connection, feeds: bool) -> None:
    _Peer(feeds).serve(pipe)


def _against(plan: Plan, feeds: bool = False) -> LoadOutcome:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_peer, args=(theirs, feeds), daemon=True)
    process.start()
    theirs.close()
    try:
        return run_load(plan, {"main": Address(ours.recv())})
    finally:
        ours.close()
        process.join(5)


@dataclass(frozen=True)
class GeneratorFigure:
    """Something measured, and what it should be at least (or, for times, at most)."""

    name: str
    value: float
    unit: str
    goal: float
    outcome: LoadOutcome

    def __str__(self) -> str:
        busy, waited = self.outcome.busy[0], self.outcome.waited[0]
        used = f"used {busy:.2f} cores, waited {waited:.0%} of the time for one"
        if self.unit == "ms":
            return f"{self.name:<46}{self.value:>10,.2f} ms (at most {self.goal:g}); {used}"
        rates = f"{self.value / 1e6:>10.2f} M msg/s, {self.value / busy / 1e6:.1f} M per second of CPU"
        return f"{self.name:<46}{rates} (at least {self.goal / 1e6:g}); {used}"


def _plan(seconds: float, *groups: Group) -> Plan:
    return Plan(groups, seconds, warm_up=0.5)


def sending(seconds: float, rate: float | None = None) -> GeneratorFigure:
    """One client, QoS 0, 32 bytes, as fast as it can or at a rate."""
    outcome = _against(_plan(seconds, Group("senders", "publish", 1, destination="bench", rate=rate)))
    sent = outcome.groups["senders"].sent / (seconds + 0.5)
    how = "unpaced" if rate is None else f"paced at {rate / 1e6:g} M/s"
    return GeneratorFigure(f"sending, {how}", sent, "msg/s", GOAL_RATE, outcome)


def paced(seconds: float) -> GeneratorFigure:
    """The same at a rate somewhat above the goal."""
    return sending(seconds, 1.25 * GOAL_RATE)


def receiving(seconds: float) -> GeneratorFigure:
    """One client takes what comes as fast as it can, and accounts for every message."""
    silent = Group("source", "publish", 1, destination="bench", rate=1e-9)
    outcome = _against(_plan(seconds, Group("takers", "consume", 1, filters=("bench",)), silent), feeds=True)
    totals = outcome.groups["takers"]
    measured = totals.latencies["message"].count / seconds
    return GeneratorFigure("receiving and accounting", measured, "msg/s", GOAL_RATE, outcome)


def timing(seconds: float) -> GeneratorFigure:
    """Ten thousand clients with a message a second each: how late the 99th of a hundred messages is sent."""
    group = Group("devices", "publish", 10_000, destination="bench/{client}", rate=10_000.0)
    outcome = _against(_plan(seconds, group))
    late = outcome.groups["devices"].latencies["lateness"].percentile(99) / 1e6
    return GeneratorFigure("10,000 clients, 1 msg/s each: lateness, 99P", late, "ms", 5.0, outcome)


def measure_generator(seconds: float) -> None:
    """Measure and print."""
    print(f"load of the machine: {' '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} cores")
    for measure in (sending, paced, receiving, timing):
        print(measure(seconds), flush=True)
