"""What stands in documentation: the blocks of code of a file, by kind."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENTS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code."""

    kind: str
    title: str
    """What stands behind the kind."""
    text: str
    line: int


def blocks(file: str) -> list[Block]:
    """All blocks of a document, in order."""
    text = (DOCUMENTS / file).read_text("utf-8")
    return [
        Block(found[1], found[2].strip(), found[3], text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
    ]


def section(file: str, title: str) -> str:
    """The text under a heading of the second level."""
    text = (DOCUMENTS / file).read_text("utf-8")
    _, _, behind = text.partition(f"\n## {title}\n")
    assert behind, f"{file} has no section {title}"
    return behind.partition("\n## ")[0]
