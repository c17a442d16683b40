"""The output of sessions and links: bytes for the peer and events for the owner.

Everything above writes through one `ConnectionOutput` in the order in which it happens, so the order of frames on the
wire is the order of calls. One thing is held back: dispositions are gathered into ranges until `flush`, which comes
before anything that must not overtake them (a transfer, a detach, an end, a close).
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from heliograph.amqp.codec.frames import SMALLEST_MAX_FRAME
from heliograph.amqp.engine.options import Options
from heliograph.common.pieces import Piece

E_contra = TypeVar("E_contra", contravariant=True)


class EventSink(Protocol[E_contra]):
    """The list of events of one `receive`, as seen by a module that adds events of some types to it."""

    def append(self, event: E_contra, /) -> None: ...

    def pop(self) -> object: ...

    def __getitem__(self, index: int, /) -> object: ...

    def __len__(self) -> int: ...


class Gathering(Protocol):
    """Has frames to write before the output is taken."""

    def flush(self) -> None: ...


class ConnectionOutput:
    """The part of a connection that sessions and links use."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.output: list[Piece] = []  # to be written; the owner takes it (and leaves an empty list)
        self.gone = False  # over: nothing that is called has any effect
        self.largest_frame = SMALLEST_MAX_FRAME  # that the peer takes
        self.unfinished = 0  # bytes received of messages of which more is to come
        self.gathering: list[Gathering] = []  # sessions that have dispositions to write
        self._opened = False  # our open has gone out
        self._held: list[Piece] = []  # frames that must not go out before our open

    def write(self, frame: bytes) -> None:
        """Send a frame, or hold it until our open has gone out."""
        if self._opened:
            self.output.append(frame)
        elif not self.gone:
            self._held.append(frame)

    def write_pieces(self, pieces: Sequence[Piece]) -> None:
        """Send frames with large payloads, which are not copied."""
        if self._opened:
            self.output += pieces
        elif not self.gone:
            self._held += pieces

    def flush(self) -> None:
        """Write the dispositions that were gathered; to be called before `output` is taken."""
        while self.gathering:
            self.gathering.pop().flush()
