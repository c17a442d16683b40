"""Offsets as Spark keeps them in its checkpoint, and how what lies between two of them is shared out among tasks.

{"stream": "plant", "identity": "91f0ab...", "partitions": {"0": 123, "1": 456}, "tasks": 2}

`partitions` has the offset behind the last message of each partition. `tasks` is how many parts were wanted when the
offset was made: a batch that is run again after a failure, perhaps on another machine, is cut as it was the first time,
because a sink may know its rows by task and number. `identity` is that of the stream: one that was made anew under the
same name has another. It is missing if the server, or the heliograph that wrote the checkpoint, did not know of it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from heliograph.pipeline.errors import CheckpointMismatch

SMALLEST_PIECE = 4096
"""Messages that are not worth another task: to start one takes longer than to read them."""
FEWEST_MESSAGES = 1000
"""Messages that a task is to have, if the batch has as many: a task takes longer to start than to process fewer, even
with a flow behind it."""

Offsets = dict[int, int]
"""By partition."""


class Piece(NamedTuple):
    """A range of one partition, which one task reads."""

    partition: int
    first: int
    end: int


def offset_json(stream: str, offsets: Mapping[int, int], tasks: int, identity: str = "") -> dict[str, Any]:
    """What Spark keeps."""
    partitions = {str(p): offsets[p] for p in sorted(offsets)}
    return {"stream": stream, **({"identity": identity} if identity else {}), "partitions": partitions, "tasks": tasks}


def identity_in(json: Mapping[str, Any]) -> str:
    """The identity of the stream in what Spark has kept; empty if that is not known."""
    return str(json.get("identity", ""))


def is_another(before: str, now: str) -> bool:
    """Whether these are identities of two streams. Where one is not known, it may be the same."""
    return bool(before and now) and before != now


def offsets_in(json: Mapping[str, Any], stream: str) -> Offsets:
    """The offsets in what Spark has kept; a Problem if they are those of another stream."""
    if json["stream"] != stream:
        raise CheckpointMismatch(
            f'the checkpoint is that of stream "{json["stream"]}", but the query reads stream "{stream}": '
            "expected the same stream, or a checkpointLocation of its own"
        )
    return {int(partition): int(offset) for partition, offset in json["partitions"].items()}


def admitted(start: Mapping[int, int], latest: Mapping[int, int], most: int | None) -> Offsets:
    """Where a batch ends that begins at `start` and has no more than `most` messages.

    Each partition gets a share that goes by what waits in it, so that all of them are done at about the same time.
    """
    waiting = {p: latest[p] - start.get(p, 0) for p in latest}
    total = sum(waiting.values())
    if most is None or total <= most:
        return dict(latest)
    shares = {p: most * n // total for p, n in waiting.items()}
    left = most - sum(shares.values())
    for p in sorted(waiting, key=lambda p: most * waiting[p] % total, reverse=True)[:left]:
        shares[p] += 1
    return {p: start.get(p, 0) + shares[p] for p in latest}


def cut(start: Mapping[int, int], end: Mapping[int, int], tasks: int) -> list[Piece]:
    """Parts of about one size, at least `tasks` of them if there is enough for that; each is of one partition."""
    ranges = {p: (start.get(p, 0), end[p]) for p in sorted(end) if end[p] > start.get(p, 0)}
    total = sum(hi - lo for lo, hi in ranges.values())
    size = max(SMALLEST_PIECE, -(-total // tasks))
    pieces: list[Piece] = []
    for p, (lo, hi) in ranges.items():
        parts = max(1, round((hi - lo) / size))
        edges = [lo + (hi - lo) * n // parts for n in range(parts + 1)]
        pieces += [Piece(p, a, b) for a, b in pairwise(edges)]
    return pieces


def shared_out(pieces: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    """What each task reads: small pieces are put together, so that a small batch of many partitions is one task."""
    shares: list[list[Piece]] = []
    messages = FEWEST_MESSAGES
    for piece in pieces:
        if messages >= FEWEST_MESSAGES:
            shares.append([])
            messages = 0
        shares[-1].append(piece)
        messages += piece.end - piece.first
    return [tuple(share) for share in shares]
