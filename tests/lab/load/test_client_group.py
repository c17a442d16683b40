"""Clients that could not send for a while make up for what they owe, and for nothing else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.lab.load import Group, Plan
from heliograph.lab.load.client_group import ClientGroup, LoadClient
from heliograph.lab.load.schedule import Times

SECOND = 1_000_000_000


class Narrow(LoadClient):
    """Sends what it has room for, and remembers when that was due."""

    def __init__(self, client_group: ClientGroup, client: int) -> None:
        super().__init__(client_group, client, None, 0)  # type: ignore[arg-type]
        self.space = 0
        self.due: list[int] = []

    def opened(self, now: int) -> None:
        """Nothing to say."""

    def feed(self, data: memoryview, now: int) -> int:
        return len(data)

    def room(self) -> int:
        return self.space

    def send(self, due: Times, now: int) -> int:
        assert 0 < len(due) <= self.space
        self.space -= len(due)
        self.due += due.tolist()
        return len(due)

    def outstanding(self) -> int:
        return 0

    def disconnect(self) -> None:
        """Nothing to say."""

    def ping(self) -> None:
        """Nothing to say."""


class Few(ClientGroup):
    """Three clients that send ten messages a second each."""

    def __init__(self) -> None:
        super().__init__(Plan((Group("few", "publish", 3, destination="t", rate=30.0),), 1000.0), 0, 0)
        self.narrow = [Narrow(self, client) for client in self.clients]
        self.load_clients = [*self.narrow]
        for end in self.narrow:
            self.became_ready(end)

    def make_client(self, client: int, began: int) -> LoadClient:
        raise NotImplementedError


@given(st.lists(st.tuples(st.integers(1, 400), st.lists(st.integers(0, 5), min_size=3, max_size=3)), max_size=40))
def test_every_message_that_is_due_is_sent_once(turns: list[tuple[int, list[int]]]) -> None:
    client_group, now = Few(), SECOND
    client_group.start(now, 1000 * SECOND)
    for wait, more in [*turns, (1, [9999] * 3), (1, [0] * 3), (1, [0] * 3)]:
        for end, space in zip(client_group.narrow, more, strict=True):
            end.space += space
            client_group.wake(end)
        now += wait * SECOND // 1000
        client_group.pump(now)
    due = sorted(time for end in client_group.narrow for time in end.due)
    count = (now - SECOND) * 30 // SECOND + 1
    assert len(due) == count
    assert np.allclose(due, SECOND + np.arange(count) * SECOND / 30, atol=10)
