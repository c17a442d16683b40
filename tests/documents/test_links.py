"""Relative links lead to files that are there, and to headings in them; `make docs` checks the same for the site."""

import re
from pathlib import Path

import pytest

from documentation import DOCUMENTS

ROOT = DOCUMENTS.parent
PAGES = [
    *ROOT.glob("*.md"),
    *DOCUMENTS.rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
_LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]*))?\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as links have them."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", "")).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for path, anchor in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(f"{path}#{anchor}")
    assert dead == []
