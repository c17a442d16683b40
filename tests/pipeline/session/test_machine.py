"""A session is sized to the machine, or to the container that it runs in."""

import os
from pathlib import Path

import pytest

from heliograph.pipeline.session.settings import Machine, this_machine

GIGABYTE = 1 << 30


@pytest.mark.parametrize(
    ("memory", "heap"), [(2 * GIGABYTE, "1024m"), (16 * GIGABYTE, "4096m"), (256 * GIGABYTE, "8192m")]
)
def test_the_heap_is_a_quarter_of_memory_within_bounds(memory: int, heap: str) -> None:
    assert Machine(2, memory).heap == heap


def test_a_container_counts_for_what_it_may_use(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    (tmp_path / "memory.max").write_text("536870912\n")
    assert this_machine(tmp_path) == Machine(1, GIGABYTE // 2)


def test_a_container_without_limits_has_the_machine(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    machine = this_machine(tmp_path)
    assert machine.cores == len(os.sched_getaffinity(0))
    assert machine.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
