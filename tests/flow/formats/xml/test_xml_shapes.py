"""Documents with the tags of a document that came before."""

import pytest

from flow.formats.xml.documents import part
from heliograph.flow.tree import Element


def test_early_field_of_a_small_document_that_has_come_before_is_found_without_making_elements() -> None:
    fields = "".join(f"<f{number}>text</f{number}>" for number in range(30))
    for number in range(3):
        top = part(f"<a><b>{number}</b>{fields}</a>").ensure("a")
        assert top.value_of("b") == str(number)
    assert top.loaded is None
    assert [child.value for child in top.children] == ["2", *["text"] * 30]


@pytest.mark.parametrize("domain", ["XML", "XMLNS", "XMLNSC"])
def test_documents_with_the_same_tags_have_trees_of_their_own(domain: str) -> None:
    trees = [part(f'<same:a xmlns:same="urn:s"><b x="1">{n}</b> <c>&lt;{n}</c></same:a>', domain) for n in range(5)]
    for tree in trees:
        tree.children[0].ensure("b").append(Element("new"))
    for number, tree in enumerate(trees):
        b = tree.children[0].first("b")
        c = tree.children[0].first("c")
        assert b is not None
        assert c is not None
        assert (b.value, c.value) == (str(number), f"<{number}")
        assert [child.name for child in b.children] == ["x", "new"]
        assert c.parent is tree.children[0]
