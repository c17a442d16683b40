"""What the fuzzer found once stays found: each input of the corpus is taken by its target, and breaks nothing."""

import os
from collections.abc import Iterator

import pytest

from fuzz.target import CORPUS, Target, corpus_files
from fuzz.targets.every import TARGETS

_CORPUS = sorted(name for name in os.listdir(CORPUS) if (CORPUS / name).is_dir())


@pytest.fixture
def target(name: str) -> Iterator[Target]:
    target = TARGETS[name]()
    yield target
    target.close()


@pytest.mark.parametrize("name", _CORPUS)
def test_the_corpus_breaks_nothing(target: Target) -> None:
    for path in corpus_files(target.name):
        try:
            target.attempt(path.read_bytes())
        except BaseException as error:
            error.add_note(f"input: {path}")
            raise


@pytest.mark.parametrize("name", sorted(set(TARGETS) - {"live"}))
def test_good_inputs_break_nothing(target: Target) -> None:
    for data in target.seeds():
        target.attempt(data)


def test_the_corpus_stays_small() -> None:
    sizes = [path.stat().st_size for name in _CORPUS for path in corpus_files(name)]
    assert sum(sizes) < 2 << 20
    assert len(sizes) < 1000
