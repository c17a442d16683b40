"""A task: its rows are published in units of work, each with the progress that it makes.

A unit that was lost with its connection is sent again by the task itself, once the server is back and has said what it
has. A task that is given up is repeated by Spark, here or elsewhere, and begins where the server says.
"""

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from heliograph.client import Queue
from heliograph.client.blocking import RunReceipt
from heliograph.client.problems import (
    ConnectionLost,
    IllegalState,
    NoAnswer,
    TransactionInDoubt,
    TransactionRolledBack,
)
from heliograph.errors import Problem
from heliograph.pipeline.sink.channel import Channel, channel_to, drop_channel, was_reached
from heliograph.pipeline.sink.messages import Messages
from heliograph.pipeline.sink.options import SinkOptions
from heliograph.pipeline.sink.part import Part
from heliograph.pipeline.sink.progress import Progress, Token
from heliograph.pipeline.sink.upstream import check_that_all_came

MOST_ROWS = 9_998
"""Rows in a unit of work; the server takes 10,000 messages, two of which are the old token and the new one."""
MOST_BYTES = 32 << 20
"""Bytes of messages in a unit of work, unless one is larger: they wait in memory, here and on the server."""
PATIENCE = 60.0
"""Seconds that a lost server has to come back."""
_PAUSE = 0.25
_PIECE_ROWS, _PIECE_BYTES = 2_000, 4 << 20
"""What is encoded at once: the server has the first piece while the next is made."""
_ANYWHERE = Queue("")
LOST = (ConnectionLost, NoAnswer, TransactionInDoubt, TransactionRolledBack, IllegalState)


class Publishing:
    """Publishes the rows of one task. The server is reached when there is a row."""

    def __init__(self, part: Part, columns: Sequence[str], options: SinkOptions) -> None:
        self._part = part
        self._options = options
        self._messages = Messages(columns, options, part.prefix, part.row)
        self._token: Token | None = None
        self._channel: Channel | None = None
        self._first = 0
        """The first row of the current unit of work: all before it are there."""
        self._next = 0
        """The row that is to be published next."""
        self._unit: list[list[bytes]] = []
        """What is in the current unit of work, in case it has to be sent again."""
        self._receipts: list[RunReceipt] = []
        self._rows = 0
        self._bytes = 0
        self._taken = False
        """Whether the current unit of work has taken the token."""

    def publish(self, batches: Iterator[pa.RecordBatch]) -> int:
        """Publish all rows that the server does not have yet; how many rows there were."""
        rows = 0
        try:
            for batch in batches:
                if batch.num_rows:
                    self._publish_batch(batch, rows)
                    rows += batch.num_rows
            check_that_all_came()
            self._commit()
            self._check_rows(rows)
            self._end()
        except BaseException:
            drop_channel(self._options)  # the server undoes the unit of work
            raise
        return rows

    def _publish_batch(self, batch: pa.RecordBatch, row: int) -> None:
        """Publish a batch whose first row has this number; rows that are there already are passed over."""
        if self._token is None:
            self._begin()
        largest = max(1, _PIECE_BYTES * batch.num_rows // max(1, batch.nbytes))
        end = row + batch.num_rows
        while self._next < end:
            at = self._next - row
            piece = batch.slice(at, min(_PIECE_ROWS, largest, MOST_ROWS - self._rows))
            payloads = self._messages.of(piece, self._next, round(time.time() * 1000))
            try:
                self._add(payloads, self._next + len(payloads))
            except LOST:
                self._recover(time.monotonic() + PATIENCE)
            if self._rows >= MOST_ROWS or self._bytes >= MOST_BYTES:
                self._commit()

    # Units of work

    def _begin(self) -> None:
        """Learn from the server how far this part has come."""
        try:
            self._take()
        except LOST:
            if not was_reached(self._options):
                raise
            self._recover(time.monotonic() + PATIENCE)

    def _take(self) -> None:
        channel = self._channel = channel_to(self._options)
        self._token = Token(channel, self._part.queue)
        self._first = self._next = self._done()

    def _done(self) -> int:
        """How many rows the server has. The token belongs to the current unit of work from now on."""
        assert self._token is not None
        progress = self._token.take()
        self._taken = True
        return 0 if progress is None else progress.rows_of(self._part.batch, self._part.name)

    def _send(self, payloads: list[bytes]) -> None:
        assert self._channel is not None
        # To which place does not matter: the messages say it themselves.
        self._receipts.append(self._channel.producer.send_encoded(payloads, _ANYWHERE))

    def _commit(self) -> None:
        """Commit the unit, however often the server is lost meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while self._rows:
            try:
                self._commit_once()
            except LOST as problem:
                if time.monotonic() > deadline:
                    raise Problem(f"{self._part.row(self._first)} cannot be published: {problem}") from None
                self._recover(deadline)

    def _commit_once(self) -> None:
        assert self._token is not None
        assert self._channel is not None
        if not self._taken and self._done() != self._first:
            raise Problem(f"queue {self._part.queue} does not have what was put into it; somebody else has changed it")
        self._token.put(Progress(self._part.batch, self._next))
        self._check_answers()
        self._channel.work.commit()
        self._taken = False
        self._clear(self._next)

    def _check_answers(self) -> None:
        """Wait until the server has answered for all rows; what it did not take is a problem of that row."""
        row = self._first
        for receipt, payloads in zip(self._receipts, self._unit, strict=True):
            for at, why in sorted(receipt.refused().items()):
                if isinstance(why, LOST):
                    raise why
                raise Problem(f"{self._part.row(row + at)} was refused by the server: {why}") from None
            row += len(payloads)

    def _clear(self, first: int) -> None:
        """The next unit begins with this row."""
        self._first = self._next = first
        self._unit, self._receipts = [], []
        self._rows = self._bytes = 0

    def _recover(self, deadline: float) -> None:
        """The server is gone: when it is back, send what it does not have."""
        first, following = self._first, self._next
        payloads = [payload for several in self._unit for payload in several]
        while True:
            drop_channel(self._options)
            time.sleep(_PAUSE)
            try:
                self._clear(0)
                self._take()
                if payloads and self._first == first:  # a unit is there as a whole, or not at all
                    self._add(payloads, following)
            except LOST as problem:
                if time.monotonic() > deadline:
                    raise Problem(
                        f"the server at {self._options.server} was lost, and did not come back: {problem}"
                    ) from None
            else:
                return

    def _add(self, payloads: list[bytes], following: int) -> None:
        """These belong to the current unit of work; `following` is the row behind them."""
        self._unit.append(payloads)
        self._next = following
        self._rows += len(payloads)
        self._bytes += sum(map(len, payloads))
        self._send(payloads)

    def _check_rows(self, rows: int) -> None:
        if rows < self._first:
            raise Problem(
                f"partition {self._part.partition} of batch {self._part.batch} had at least {self._first} rows when it "
                f"was published before, and has {rows} now; a repeated batch must have the same rows in the same order"
            )

    def _end(self) -> None:
        """Let the token go; it is as the last commit left it."""
        if self._token is None:
            return
        assert self._channel is not None
        if self._taken:
            self._channel.work.rollback(blame=False)
        self._token.close()
