"""How many deliveries a load should have led to: what was sent, times those who should have got it."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load.address import Address
from heliograph.lab.load.naming import feeding, filters_of, share_of, topics_of
from heliograph.lab.load.plan import Group, Plan
from heliograph.mqtt import topic_matches


class Audience:
    """Who of one receiving group gets what is published to a topic: each client, or each share, once."""

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
    """Works out, for any counts of messages sent, how many deliveries each receiving group should have got."""

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
                    # Replies come to whoever has asked, if anybody answers.
                    sizes = np.full((group.clients, group.topics), int(sending == receiving))
                elif managers[sending] != managers[receiving]:
                    sizes = np.zeros((group.clients, group.topics), np.int64)
                else:
                    sizes = np.array([[audience.size(topic) for topic in of_client] for of_client in topics])
                self._sizes[receiving][sending] = sizes.reshape(group.clients, group.topics)

    def of(self, counts: Mapping[int, NDArray[np.int64]]) -> dict[int, int]:
        """By receiving group, if the clients of each sending group have sent so many messages."""
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
