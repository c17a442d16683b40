"""A system under test, ready for a load: its addresses, processes, statistics and configuration."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from heliograph.lab.load.plan import Address
from heliograph.lab.machine import on_cores_of
from heliograph.lab.targets.broker_process import Broker, serving_broker
from heliograph.lab.targets.requirements import Door, ListenerType, Requirements
from heliograph.lab.targets.target import Statistics, Target


def _nothing() -> list[int]:
    return []


@dataclass(frozen=True)
class RunningSystem:
    """One that runs now."""

    addresses: Mapping[str, Address]
    """By door: `main`, one for each way (`mqtt-tcp`, `amqp-tls`), and `QM0`, `QM1`... for queue managers."""
    pids: Callable[[], list[int]] = _nothing
    """Of all its processes on this machine."""
    statistics: Statistics | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)
    user: str = ""
    """Who clients are that do not say so themselves."""
    password: str = ""
    cores: frozenset[int] | None = None
    """Those that it may use; None if the kernel decides."""


class SystemKind(ABC):
    """A kind of system that can be put under test."""

    name: str
    capabilities: frozenset[str]
    install_hint: str
    """How to install it, if it is not there."""

    @abstractmethod
    def version(self) -> str | None:
        """Its version, None when it is not installed."""

    @abstractmethod
    def running(self, wanted: Requirements, cores: frozenset[int] | None) -> AbstractContextManager[RunningSystem]:
        """Start it empty, as required, on these cores, and stop it afterwards."""


class InstalledSystem(SystemKind):
    """A broker of this machine, started afresh for each run."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.name, self.install_hint = target.name, target.install_hint
        self.capabilities = target.capabilities
        self._version = target.version()  # brokers are started to tell it, so they are asked once

    def version(self) -> str | None:
        """Its version, None when it is not installed."""
        return self._version

    @contextmanager
    def running(self, wanted: Requirements, cores: frozenset[int] | None) -> Iterator[RunningSystem]:
        """Start it with these listeners and queues."""
        mine = _some(cores, wanted.cpus)
        with ExitStack() as stack:
            with on_cores_of(mine):  # inherited by what is started now
                broker = stack.enter_context(serving_broker(self._target, None, wanted, pages=True))
            user, password = _credentials(broker.doors)
            yield RunningSystem(
                _addresses(broker),
                broker.pids,
                broker.statistics(),
                _configuration(broker),
                user=user,
                password=password,
                cores=mine,
            )


def _some(cores: frozenset[int] | None, most: int | None) -> frozenset[int] | None:
    """As many of the cores as the system may use."""
    if most is None or not hasattr(os, "sched_getaffinity"):
        return cores
    return frozenset(sorted(cores or os.sched_getaffinity(0))[:most])


def _addresses(broker: Broker) -> dict[str, Address]:
    setup = broker.setup
    first = broker.doors[0].address if broker.doors else broker.address
    found = {}
    for listener in setup.listeners:
        found[ListenerType(listener.protocol, listener.transport).door] = Address(
            listener.port,
            ca_file=str(setup.tls.cert) if setup.tls else None,
            path=f"/{listener.protocol}",
            hostname=first.hostname,
            queue_prefix=first.queue_prefix,
            topic_prefix=first.topic_prefix,
        )
    found["main"] = next(iter(found.values()))
    for number, way_in in enumerate(broker.doors):
        found[f"QM{number}"] = way_in.address
    return found


def _credentials(doors: tuple[Door, ...]) -> tuple[str, str]:
    return (doors[0].user, doors[0].password) if doors else ("", "")


def _configuration(broker: Broker) -> dict[str, Any]:
    """The files that it was started with, by name."""
    files = [path for path in broker.setup.directory.iterdir() if path.suffix in {".toml", ".conf"}]
    return {path.name: path.read_text() for path in sorted(files)}
