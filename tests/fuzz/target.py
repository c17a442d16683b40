"""What is fuzzed: a target takes any bytes at all, and may only fail in the ways that it names."""

import functools
import os
import random
import resource
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from fuzz.mutating import mutated, rearranged

CORPUS = Path(__file__).parent / "corpus"
"""Inputs worth keeping, in a folder for each target: those that reached new code, and those that broke something."""

LONGEST_TIME = 2.0
"""Seconds of CPU time for one input."""
LONGEST_WAIT = 60.0
"""Seconds, whatever they were spent on."""
MOST_MEMORY = 256 << 20
"""Bytes by which one input may make the process grow."""


class TooMuch(BaseException):
    """An input took more time or memory than any may. No Exception, so that nobody takes it for a client's fault."""


class Target(ABC):
    """One thing to fuzz. An input is a string of bytes, and says all: the same input does the same again."""

    name = ""
    words: Sequence[bytes] = ()
    """What means something in inputs."""
    allowed: tuple[type[Exception], ...] = ()
    """What may be raised for a bad input."""
    time = LONGEST_TIME

    @abstractmethod
    def seeds(self) -> list[bytes]:
        """Good inputs, which all others are made of."""

    def split(self, data: bytes) -> list[bytes]:
        """The units of an input."""
        return [data]

    def join(self, units: Sequence[bytes]) -> bytes:
        """The other way round."""
        return b"".join(units)

    def change_unit(self, unit: bytes, chance: random.Random) -> bytes:
        """One unit with something changed in it, and its length set right."""
        return mutated(unit, chance, (), self.words)

    @abstractmethod
    def run(self, data: bytes) -> None:
        """Take an input; whatever is raised and not `allowed` is a finding."""

    def close(self) -> None:  # noqa: B027 - most have nothing
        """Let go of what it has."""

    # For all targets alike

    @functools.cached_property
    def pool(self) -> list[bytes]:
        """Seeds, and what the corpus has."""
        return self.seeds() + [path.read_bytes() for path in corpus_files(self.name)]

    @functools.cached_property
    def _units(self) -> list[bytes]:
        return [unit for data in self.pool for unit in self.split(data)]

    def made(self, chance: random.Random) -> bytes:
        """Another input."""
        data = chance.choice(self.pool)
        match chance.randrange(4):
            case 0:
                return mutated(data, chance, self.pool, self.words)
            case 1:
                return self.join(rearranged(self.split(data), chance, self._units))
            case 2:
                return self.changed(data, chance)
            case _:
                return self.changed(self.join(rearranged(self.split(data), chance, self._units)), chance)

    def changed(self, data: bytes, chance: random.Random) -> bytes:
        """An input with changes in one unit, or a few."""
        units = self.split(data)
        for _ in range(chance.choice((1, 1, 2, 4))):
            if units:
                at = chance.randrange(len(units))
                units[at] = self.change_unit(units[at], chance)
        return self.join(units)

    def attempt(self, data: bytes) -> None:
        """Take an input within the bounds of time and memory."""
        with bounded(self.time), suppress(*self.allowed):
            self.run(data)


def corpus_files(name: str) -> list[Path]:
    """What the corpus has for a target."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one input, in memory where the system has such a place: nothing in it has to last."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises TooMuch out of whatever is done inside when it takes too long or too much memory."""

    def too_long(_number: int, _frame: FrameType | None) -> NoReturn:
        raise TooMuch(f"more than {seconds:g} s of CPU time, or {LONGEST_WAIT:g} s in all")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    handlers = [(number, signal.signal(number, too_long)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers:
            signal.signal(number, handler)
    # What is done in C is not interrupted.
    if (took := time.process_time() - started) > seconds:
        raise TooMuch(f"{took:.1f} s of CPU time")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > MOST_MEMORY:
        raise TooMuch(f"{grown >> 20} MB of memory")
