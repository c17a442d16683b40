"""The catalogue, and BLOB."""

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats import Catalogue
from heliograph.flow.formats.catalogue import Blob
from heliograph.flow.tree import Format, Part, Text


class OneModel:
    """Models that know the message set ORDERS."""

    def format(self, text: Text) -> Format:
        if text.message_set != "ORDERS":
            raise Problem(f"no message set {text.message_set}")
        return Blob()


@pytest.mark.parametrize("domain", ["BLOB", "JSON", "XML", "XMLNS", "XMLNSC"])
def test_format_of_a_domain_names_its_part(domain: str) -> None:
    assert Catalogue().new_part(domain).name == domain


def test_unknown_domain_is_said_with_those_that_are_known() -> None:
    with pytest.raises(Problem, match=r"no domain 'XMLX'.*BLOB.*MRM.*XMLNSC"):
        Catalogue().format("XMLX")


def test_mrm_asks_the_models() -> None:
    assert isinstance(Catalogue(OneModel()).format("MRM", Text(message_set="ORDERS")), Blob)
    with pytest.raises(Problem, match="no message set OTHER"):
        Catalogue(OneModel()).format("MRM", Text(message_set="OTHER"))


def test_mrm_part_can_be_built_before_its_message_set_is_known() -> None:
    part = Catalogue().new_part("MRM")
    part.ensure("a").set_value(1)
    with pytest.raises(Problem, match="Domain MRM needs a model"):
        part.bytes()


def test_blob_has_all_bytes_in_one_element() -> None:
    part = Catalogue().part_of("BLOB", b"\x00\x01")
    assert part.ensure("BLOB").value == b"\x00\x01"
    part.ensure("BLOB").set_value(b"new")
    assert part.bytes() == b"new"


def test_empty_blob_is_no_bytes() -> None:
    assert Catalogue().new_part("BLOB").bytes() == b""


def test_blob_of_another_type_is_refused() -> None:
    part: Part = Catalogue().new_part("BLOB")
    part.ensure("BLOB").set_value("text")
    with pytest.raises(FormatProblem, match=r"field BLOB\.BLOB: expected a BLOB value, found str 'text'"):
        part.bytes()
