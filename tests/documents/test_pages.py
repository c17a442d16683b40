"""What the tutorials and guides say can be done works: their commands and programs are run in order."""

from pathlib import Path

import pytest

from documentation import Page, blocks, runnable

SPARK = {page for page in runnable("start", "guides") if "spark" in page}
"""Pages that start Spark."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.spark] if page in SPARK else [])
        for page in runnable("start", "guides")
        if any(block.kind in {"sh", "python"} and not block.not_run for block in blocks(page))
    ],
)
def test_the_commands_of_a_page_can_be_run_in_order(page: str, tmp_path: Path) -> None:
    Page(page, tmp_path).run()


@pytest.mark.parametrize("page", list(runnable("start", "guides")))
def test_what_is_not_run_says_why(page: str) -> None:
    assert [block.line for block in blocks(page) if block.not_run and len(block.not_run) < 10] == []
