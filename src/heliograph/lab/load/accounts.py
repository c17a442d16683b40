"""The totals of a load: messages sent, deliveries expected and received, and whether the generator was the limit."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.ledger import repeated
from heliograph.lab.load.meter import Interval, LoadOutcome, Totals
from heliograph.lab.load.naming import feeding, filters_of, share_of, topics_of
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.lab.load.worker import Finished
from heliograph.mqtt import topic_matches

# Of the time: a process that computes or wants to for more than this has nothing left for bad moments, whether its own
# work is too much for it or others keep the core from it.
BUSY = 0.9
LATE_NS = 10_000_000  # lateness that one in a hundred messages may have for reasons of the generator's own
_BEFORE = frozenset({"connect", "subscribe"})  # what happens before the measured time and counts all the same
_COUNTERS = ("sent", "received", "acknowledged", "duplicates", "reordered", "errors")


class Audience:
    """The receivers of a topic in one receiving group: each client, or each share, gets a message once."""

    def __init__(self, group: Group) -> None:
        self._exact: dict[str, set[int | str]] = defaultdict(set)
        # Filters with wildcards by what stands before the first of them: most topics then meet a few candidates.
        self._wild: dict[tuple[str, ...], dict[str, set[int | str]]] = defaultdict(lambda: defaultdict(set))
        for client in range(group.clients):
            for one, fed_by in zip(filters_of(group, client), feeding(group, client), strict=True):
                receiver = share_of(group, one) or client
                name = _plain(fed_by)
                levels = name.split("/")
                fixed = next((at for at, level in enumerate(levels) if level in {"+", "#"}), None)
                if fixed is None:
                    self._exact[name].add(receiver)
                else:
                    self._wild[tuple(levels[:fixed])][name].add(receiver)

    def size(self, topic: str) -> int:
        """How many times a message to this topic should be delivered to the group."""
        name = _plain(topic)
        found = [self._exact[name]] if name in self._exact else []
        if self._wild:
            levels = name.split("/")
            for end in range(len(levels) + 1):
                candidates = self._wild.get(tuple(levels[:end]), {})
                found += [who for one, who in candidates.items() if topic_matches(one, name)]
        return len(found[0]) if len(found) == 1 else len(set[int | str]().union(*found))


def _plain(name: str) -> str:
    """MQTT's name of a topic that AMQP clients write with a prefix."""
    return name.removeprefix("topic://")


class Expectation:
    """Computes how many deliveries each receiving group should get for given counts of messages sent."""

    def __init__(self, plan: Plan, addresses: Mapping[str, Address]) -> None:
        managers = [addresses[group.door].manager for group in plan.groups]
        audiences = {index: Audience(group) for index, group in enumerate(plan.groups) if group.receives}
        self._topics = {index: group.topics for index, group in enumerate(plan.groups)}
        self._sizes: dict[int, dict[int, NDArray[np.int64]]] = {index: {} for index in audiences}
        for sending, group in enumerate(plan.groups):
            if not group.sends:
                continue
            topics = [topics_of(group, client) for client in range(group.clients)]
            for receiving, audience in audiences.items():
                if plan.groups[receiving].role == "request":
                    # Replies go to the requester, if there is a responder.
                    sizes = np.full((group.clients, group.topics), int(sending == receiving))
                elif managers[sending] != managers[receiving]:
                    sizes = np.zeros((group.clients, group.topics), np.int64)
                else:
                    sizes = np.array([[audience.size(topic) for topic in of_client] for of_client in topics])
                self._sizes[receiving][sending] = sizes.reshape(group.clients, group.topics)

    def of(self, counts: Mapping[int, NDArray[np.int64]]) -> dict[int, int]:
        """Expected deliveries by receiving group, given what each client of each sending group has sent."""
        expected = {}
        for receiving, by_sender in self._sizes.items():
            total = 0
            for sending, sizes in by_sender.items():
                if sending in counts:
                    topics = self._topics[sending]
                    turns = np.arange(topics)
                    streams = (counts[sending][:, None] - turns[None, :] + topics - 1) // topics
                    total += int((streams * sizes).sum())
            expected[receiving] = total
        return expected


class Accounts:
    """Sums up intervals, and computes the totals when all processes have finished."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._counters: dict[str, dict[str, int]] = {group.name: dict.fromkeys(_COUNTERS, 0) for group in plan.groups}
        self._bursts = {group.name for group in plan.groups if group.role == "connect"}
        self._latencies: dict[str, dict[str, Histogram]] = {group.name: defaultdict(Histogram) for group in plan.groups}

    def add(self, interval: Interval) -> None:
        """Another second of one group in one process."""
        counters = self._counters[interval.group]
        for name in _COUNTERS:
            counters[name] += getattr(interval, name)
        measured = 0 <= interval.second < self._plan.seconds
        for kind, histogram in interval.latencies.items():
            if measured or (kind in _BEFORE and interval.group not in self._bursts):
                self._latencies[interval.group][kind] += histogram

    def close(self, finished: Mapping[int, Finished], expected: Mapping[int, int], seconds: float) -> LoadOutcome:
        """The outcome of the load; `expected` deliveries are by receiving group."""
        groups = {}
        for index, group in enumerate(self._plan.groups):
            counters = self._counters[group.name]
            counters["duplicates"] += self._repeated(index, finished)
            distinct = counters["received"] - counters["duplicates"]
            groups[group.name] = Totals(
                **counters,
                expected=expected.get(index, 0),
                lost=max(0, expected.get(index, 0) - distinct),
                unsent=sum(one.unsent[index] for one in finished.values()),
                first_error=next((one.first_errors[index] for one in finished.values() if one.first_errors[index]), ""),
                connect_seconds=_longest([one.connecting[index] for one in finished.values()]),
                latencies=dict(self._latencies[group.name]),
            )
        cpu = tuple(one.cpu_seconds for _, one in sorted(finished.items()))
        busy = tuple(one.cpu_seconds / max(one.seconds, 1e-9) for _, one in sorted(finished.items()))
        waited = tuple(one.waited_seconds / max(one.seconds, 1e-9) for _, one in sorted(finished.items()))
        return LoadOutcome(groups, cpu, busy, waited, seconds, self._bottleneck(busy, waited, finished))

    @staticmethod
    def _repeated(index: int, finished: Mapping[int, Finished]) -> int:
        """Duplicates in a share whose members are in different processes: no process can detect these alone."""
        parts: dict[tuple[int, str, int], list[dict[int, bytes]]] = defaultdict(list)
        for one in finished.values():
            for key, packed in one.shares.items():
                if key[0] == index:
                    parts[key].append(packed)
        return sum(repeated(several) for several in parts.values() if len(several) > 1)

    def _bottleneck(
        self, busy: tuple[float, ...], waited: tuple[float, ...], finished: Mapping[int, Finished]
    ) -> str | None:
        found = [
            f"process {number} of the generator used {used:.0%} of a core and waited {lacked:.0%} of the time for one"
            for number, (used, lacked) in enumerate(zip(busy, waited, strict=True))
            if used + lacked > BUSY
        ]
        for index, group in enumerate(self._plan.groups):
            lateness = sum((one.own_lateness[index] for one in finished.values()), Histogram())
            late = lateness.percentile(99)
            if late > LATE_NS:
                found.append(
                    f"one in a hundred messages of group {group.name!r} was sent {late / 1e6:.1f} ms late or more, "
                    "with the broker ready to take it"
                )
        return "; ".join(found) or None


def _longest(times: Sequence[float | None]) -> float | None:
    """The longest of these times; None if one of them is not known."""
    known = [one for one in times if one is not None]
    return max(known) if known and len(known) == len(times) else None
