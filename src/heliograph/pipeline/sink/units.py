"""Units of work of a task: messages are published together with the progress that they make.

Theory of operation
1. `Units` owns the task's token (`progress`), the current unit of work, and a copy of all its messages. `first` is the
   number of rows that the server has committed; rows from `first` up to `next` are in the current unit.
2. `begin` takes the token, which says how far earlier attempts at this task have come, and sets `first` and `next`
   accordingly. `add` sends messages without waiting for answers.
3. `commit` takes the token within the unit, if the unit does not have it yet; checks that it still says `first`; puts a
   token that says `next`; waits until the server has accepted all messages; and commits. So token and messages change
   together, or not at all.
4. If the server is lost at any point, it may or may not have committed the unit. The task therefore takes the token
   again when the server is back. If it says `first`, the unit was undone, and all of it is sent again. If it says
   `next` or more, the unit was committed. Anything between means that another attempt has published: the task fails.
5. A task that fails is repeated by Spark, here or elsewhere, and begins where the token says.
"""

import time

from heliograph.client import (
    ConnectionLost,
    IllegalState,
    NoAnswer,
    Queue,
    RunReceipt,
    TransactionInDoubt,
    TransactionRolledBack,
)
from heliograph.pipeline.errors import PublishingFailed, ServerGone
from heliograph.pipeline.sink.channel import Channel, channel_to, drop_channel, was_reached
from heliograph.pipeline.sink.options import SinkOptions
from heliograph.pipeline.sink.part import Part
from heliograph.pipeline.sink.progress import Progress, Token

MOST_MESSAGES = 9_998
"""Messages in a unit of work; the server takes 10,000, two of which are the old token and the new one."""
MOST_BYTES = 32 << 20
"""Bytes of messages in a unit of work, unless one is larger: they wait in memory, here and on the server."""
_PATIENCE = 60.0
"""Seconds that a lost server has to come back."""
_PAUSE = 0.25
_LOST = (ConnectionLost, NoAnswer, TransactionInDoubt, TransactionRolledBack, IllegalState)
_ANYWHERE = Queue("")
"""The messages themselves say where they go."""


class Units:
    """The units of work of one task, one after the other. Rows are counted; a row may be several messages, or none."""

    def __init__(self, part: Part, options: SinkOptions) -> None:
        self._part = part
        self._options = options
        self._token: Token | None = None
        self._channel: Channel | None = None
        self.first = 0
        """The first row of the current unit of work: the server has all before it."""
        self.next = 0
        """The row that is to be published next."""
        self._payloads: list[list[bytes]] = []
        """What is in the current unit of work, in case it has to be sent again."""
        self._receipts: list[RunReceipt] = []
        self._count = 0
        self._bytes = 0
        self._taken = False
        """Whether the current unit of work has taken the token."""

    @property
    def room(self) -> int:
        """How many more messages fit into the current unit."""
        return MOST_MESSAGES - self._count

    def begin(self) -> None:
        """Take the token, and with it learn how far this part has come; once per task."""
        if self._token is not None:
            return
        try:
            self._take()
        except _LOST:
            if not was_reached(self._options):
                raise
            self._recover(time.monotonic() + _PATIENCE)

    def add(self, payloads: list[bytes], following: int) -> None:
        """Send these messages; `following` is the row after them. Commit the unit when it is large enough."""
        if len(payloads) > self.room:
            self.commit()
        try:
            self._add(payloads, following)
        except _LOST:
            self._recover(time.monotonic() + _PATIENCE)
        if self._count >= MOST_MESSAGES or self._bytes >= MOST_BYTES:
            self.commit()

    def commit(self) -> None:
        """Commit the unit. If the server is lost, recover and try again, for `_PATIENCE` seconds in all."""
        deadline = time.monotonic() + _PATIENCE
        while self._count:
            try:
                self._commit()
            except _LOST as problem:
                if time.monotonic() > deadline:
                    raise PublishingFailed(f"{self._part.row(self.first)} cannot be published: {problem}") from None
                self._recover(deadline)

    def end(self) -> None:
        """Release the token, with the value of the last commit."""
        if self._token is None:
            return
        assert self._channel is not None
        if self._taken:  # the unit took the token and has no messages: the rollback puts the token back
            self._channel.work.rollback(blame=False)
        self._token.close()

    def abandon(self) -> None:
        """Abandon the current unit by closing the connection: the server rolls it back."""
        drop_channel(self._options)

    def _take(self) -> None:
        channel = self._channel = channel_to(self._options)
        self._token = Token(channel, self._part.queue)
        self.first = self.next = self._done()

    def _done(self) -> int:
        """Take the token into the current unit of work; returns how many rows the server has committed."""
        assert self._token is not None
        progress = self._token.take()
        self._taken = True
        return 0 if progress is None else progress.rows_of(self._part.batch, self._part.name)

    def _add(self, payloads: list[bytes], following: int) -> None:
        assert self._channel is not None
        self._payloads.append(payloads)
        self.next = following
        self._count += len(payloads)
        self._bytes += sum(map(len, payloads))
        self._receipts.append(self._channel.producer.send_encoded(payloads, _ANYWHERE))

    def _commit(self) -> None:
        assert self._token is not None
        assert self._channel is not None
        if not self._taken and self._done() != self.first:
            raise PublishingFailed(
                f"queue {self._part.queue} does not have what was put into it; somebody else has changed it"
            )
        self._token.put(Progress(self._part.batch, self.next))
        self._check_answers()
        self._channel.work.commit()
        self._taken = False
        self._clear(self.next)

    def _check_answers(self) -> None:
        """Wait until the server has answered for all messages; raise `PublishingFailed` if it refused one."""
        at = 0
        for receipt, payloads in zip(self._receipts, self._payloads, strict=True):
            for number, why in sorted(receipt.refused().items()):
                if isinstance(why, _LOST):
                    raise why
                place = self._part.message(self.first, at + number, single=self._count == self.next - self.first)
                raise PublishingFailed(f"{place} was refused by the server: {why}") from None
            at += len(payloads)

    def _clear(self, first: int) -> None:
        """Start an empty unit of work with this row."""
        self.first = self.next = first
        self._payloads, self._receipts = [], []
        self._count = self._bytes = 0

    def _recover(self, deadline: float) -> None:
        """Reconnect, and send the current unit again unless the server has committed it."""
        first, following = self.first, self.next
        payloads = [payload for several in self._payloads for payload in several]
        while True:
            drop_channel(self._options)
            time.sleep(_PAUSE)
            try:
                self._clear(first)
                self._take()
                if first < self.first < following:
                    raise PublishingFailed(f"another attempt has published some from {self._part.row(first)} on")
                if payloads and self.first == first:
                    self._add(payloads, following)
            except _LOST as problem:
                if time.monotonic() > deadline:
                    raise ServerGone(
                        f"the server at {self._options.server} was lost, and did not come back: {problem}"
                    ) from None
            else:
                return
