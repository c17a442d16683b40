"""`make fuzz`: feed all that takes bytes from strangers with damaged input, and keep what breaks something.

Targets take turns. Each finding is a file below tests/fuzz/found, made as small as it can be made cheaply, with the
traceback beside it; `--replay FILE` does it again. A finding that is mended goes to tests/fuzz/corpus/TARGET, so that
the tests keep it.
"""

import argparse
import random
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fuzz import guided
from fuzz.findings import FOUND, failure, kept, smaller, where
from fuzz.target import Target
from fuzz.targets.every import TARGETS

_TURN = 15.0
"""Seconds that a target has at a time."""


@dataclass
class Tally:
    """What came of one target's turns."""

    seconds: float = 0.0
    inputs: int = 0
    found: set[str] = field(default_factory=set)
    """One for each kind of failure."""

    def add(self, seconds: float, inputs: int, found: Iterable[str] = ()) -> None:
        self.seconds += seconds
        self.inputs += inputs
        self.found.update(found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one; repeatable")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="take this input once, and nothing else")
    options = parser.parse_args()
    if options.replay:
        return _replay(options.replay, (options.target or [options.replay.absolute().parent.name])[0])
    names = options.target or list(TARGETS)
    print(f"seed {options.seed}", flush=True)
    done = _fuzz(names, options.minutes * 60, options.seed)
    print(f"\n{'target':24} {'minutes':>7} {'inputs':>9} {'findings':>8}")
    for name, tally in done.items():
        print(f"{name:24} {tally.seconds / 60:7.1f} {tally.inputs:9} {len(tally.found):8}")
    found = sum(len(tally.found) for tally in done.values())
    print(f"{found} findings, in {FOUND}" if found else "nothing found", flush=True)
    return 1 if found else 0


def _replay(path: Path, name: str) -> int:
    target = TARGETS[name]()
    try:
        error = failure(target, path.read_bytes())
    finally:
        target.close()
    if error is None:
        print(f"{path}: nothing is wrong")
        return 0
    traceback.print_exception(error)
    return 1


def _fuzz(names: list[str], seconds: float, seed: int) -> dict[str, Tally]:
    end = time.monotonic() + seconds
    targets = [TARGETS[name]() for name in names]
    guides = [target for target in targets if target.name in guided.TARGETS]
    by_coverage = {target.name: guided.Guided(target) for target in guides} if guides and guided.is_possible() else {}
    turns = len(targets) + len(by_coverage)
    turn = min(_TURN, seconds / turns)
    done: defaultdict[str, Tally] = defaultdict(Tally)
    number = 0
    try:
        while time.monotonic() < end:
            for target in targets:
                if (left := min(turn, end - time.monotonic())) > 0:
                    _turn(target, left, random.Random(f"{seed} {number} {target.name}"), done[target.name])
            for name, one in by_coverage.items():
                if (left := min(turn, end - time.monotonic())) > 2:
                    inputs, found = one.turn(left, seed + number)
                    done[f"{name}, by coverage"].add(left, inputs, found)
            number += 1
    finally:
        for one in (*targets, *by_coverage.values()):
            one.close()
    return done


def _turn(target: Target, seconds: float, chance: random.Random, tally: Tally) -> None:
    """Let a target run for some time, and say what came of it."""
    _ = target.pool  # takes time the first time
    start = time.monotonic()
    inputs, failed = 0, 0
    while time.monotonic() < start + seconds:
        data = target.made(chance)
        error = failure(target, data)
        inputs += 1
        if error is None:
            continue
        failed += 1
        kind = where(error)
        if kind not in tally.found:  # one of each kind is enough
            tally.found.add(kind)
            _tell(target, data, error)
    took = time.monotonic() - start
    tally.add(took, inputs)
    print(f"{target.name:12} {inputs:7} inputs {inputs / took:8.0f}/s {failed:4} failed", flush=True)


def _tell(target: Target, data: bytes, error: BaseException) -> None:
    kind = where(error)
    data = smaller(target, data, kind)
    error = failure(target, data) or error
    path = kept(target, data, error)
    said, _, _ = f"{kind.partition(': ')[0]}: {error}".partition("\n")
    print(f"FOUND {target.name}: {said[:200]}", flush=True)
    print(f"  again: PYTHONPATH=src:tests python -m fuzz --replay {path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
