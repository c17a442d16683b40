"""Documents for tests: as parts, written again, and as trees in text."""

from heliograph.flow.formats import Catalogue
from heliograph.flow.language.dumping import dump_tree
from heliograph.flow.tree import Part, Text

CATALOGUE = Catalogue()


def part(document: str | bytes, domain: str = "XMLNSC", text: Text = Text()) -> Part:  # noqa: B008
    return CATALOGUE.part_of(domain, document.encode() if isinstance(document, str) else document, text)


def written(document: str | bytes, domain: str = "XMLNSC", text: Text = Text()) -> str:  # noqa: B008
    """What is written if something has changed, but the elements are the same."""
    read = part(document, domain, text)
    _ = read.children
    read.touch()
    return read.bytes().decode()


def shown(document: str, domain: str) -> str:
    return dump_tree(part(document, domain))
