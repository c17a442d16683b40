"""What was found: kept as files that can be replayed, each made as small as it can be made cheaply."""

import hashlib
import time
import traceback
from pathlib import Path

from fuzz.target import Target

FOUND = Path(__file__).parent / "found"
"""One file for each finding, and what it raised beside it; not part of the repository."""

_TRIES = 400
_SECONDS = 20.0


def failure(target: Target, data: bytes) -> BaseException | None:
    """What an input raises that it must not."""
    try:
        target.attempt(data)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is: that is the question
        return error
    return None


def where(error: BaseException) -> str:
    """What tells one defect from another: the kind of error, and the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "heliograph" in Path(frame.filename).parts] or frames
    kind = f"{type(error).__name__} at {Path(ours[-1].filename).name}:{ours[-1].lineno}"
    said, _, _ = str(error).partition("\n\n")
    return kind if ours is not frames else f"{kind}: {said}"


def smaller(target: Target, data: bytes, kind: str) -> bytes:
    """A shorter input that fails in the same way: parts are left out, large ones first, for as long as that helps."""
    give_up = time.monotonic() + _SECONDS
    tries = _TRIES
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            if tries == 0 or time.monotonic() > give_up:
                return data
            tries -= 1
            shorter = data[:at] + data[at + size :]
            error = failure(target, shorter)
            if error is not None and where(error) == kind:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def kept(target: Target, data: bytes, error: BaseException) -> Path:
    """Write a finding down; where."""
    folder = FOUND / target.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))
    return path
