"""The exceptions of the log.

`BadRecord` stays inside the room: readers turn it into `LogDamaged`, which has the place.
"""

from pathlib import Path

from heliograph.errors import HeliographError, InvalidInput, Problem, StorageError, Unreachable


class LogError(Problem):
    """Root of all problems with a log or its streams."""


class BadRecord(HeliographError):
    """The bytes at a position are no record. The text is the reason, without the place."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position = position


class LogDamaged(LogError, StorageError):
    """Records that had been safe are no longer readable, from `position` on."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position

    @classmethod
    def missing(cls, directory: Path, start: int, end: int) -> "LogDamaged":
        """For positions that are needed but in no segment."""
        return cls(f"{directory}: positions {start} to {end} are missing, no segment has them", start)


class BadSegment(LogError, StorageError):
    """A file has no proper header of a segment, or is of a format that this program does not know."""


class MalformedRecord(LogError, StorageError):
    """A record has the right check sum, but its body makes no sense, or is of another form than expected."""


class MessageMissing(LogError, StorageError):
    """A message that a cursor still needs is not in the log, or not where it should be."""


class PositionGone(LogError, InvalidInput):
    """A position of the log whose segment has been deleted."""


class NotWritable(LogError, StorageError):
    """The disk does not take what is to be written. The text has the operating system's reason."""


class UnknownStream(LogError, InvalidInput):
    """There is no such stream, or no such partition."""


class IndexDamaged(LogError, StorageError):
    """The index of a stream's partition cannot be read. The server makes a new one when it starts."""


class OffsetGone(LogError, InvalidInput):
    """Messages that a reader asks for have been deleted; `earliest` is the oldest offset left."""

    def __init__(self, what: str, offset: int, earliest: int) -> None:
        super().__init__(f"{what}: offset {offset} is gone, the earliest one left is {earliest}")
        self.offset = offset
        self.earliest = earliest


class OffsetAhead(LogError, InvalidInput):
    """A reader asks for messages behind the next one; `latest` is the offset that the next message gets."""

    def __init__(self, what: str, offset: int, latest: int) -> None:
        super().__init__(f"{what}: offset {offset} is ahead of the stream, the next message gets {latest}")
        self.offset = offset
        self.latest = latest


class ServerUnreachable(LogError, Unreachable):
    """The server that has the stream does not answer, for now."""


class RequestRefused(LogError):
    """The server answers that it does not do what was asked. The text is what the server says."""


class BadAnswer(LogError):
    """The answer is not one of heliograph's pages, or is cut short."""
