"""docs/reference/errors.md has every exception."""

from errors_page import PAGE, exceptions, written


def rows(text: str) -> list[list[str]]:
    """The tables without what exceptions mean."""
    return [line.split(" | ")[:3] for line in text.splitlines() if line.startswith("| ")]


def test_the_tree_of_exceptions_is_up_to_date() -> None:
    text = PAGE.read_text()
    assert rows(text) == rows(written(text)), "run: python tests/errors_page.py"


def test_every_exception_says_what_it_means() -> None:
    assert [found.full_name for found in exceptions().values() if not found.meaning] == []
