"""SWIFT MT messages: what the tree looks like, that untouched text stays, and what is said about bad messages."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.swift.mt_messages import ANY, GENL, MODELS, MT543, at, everything, message, part
from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.tree import Element, Part
from heliograph.lab.flows.messages import MEASURED_SIZE, mt543


class TestTheTree:
    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("Block1.LogicalTerminal", "BANKBEBBAXXX"),
            ("Block2.MessageType", "543"),
            ("Block2.Receiver", "CUSTDEFFXXXX"),
            ("Block4.GENL.F20C.Qualifier", "SEME"),
            ("Block4.GENL.F23G.Function", "NEWM"),
            ("Block4.GENL.F98C.Time", "093000"),
            ("Block4.GENL.LINK[2].F20C.Reference", "NONREF"),
            ("Block4.TRADDET.F35B.ISIN", "DE0001234567"),
            ("Block4.TRADDET.F35B.Description", "INVENTED PUBLIC LOAN\r\n4,5 PERCENT 2003 - 2013"),
            ("Block4.TRADDET.F90B.Price", Decimal("101.25")),
            ("Block4.TRADDET.F99A.Sign", "N"),
            ("Block4.TRADDET.FIA.F12A.Issuer", None),
            ("Block4.FIAC.F95P.BIC", "CUSTDEFFXXX"),
            ("Block4.SETDET.F22F[2].Qualifier", "STCO"),
            ("Block4.SETDET.SETPRTY[2].F95Q.NameAndAddress", "HOUSE OF MADE UP NAMES\r\n1 SOME STREET\r\nSOME TOWN"),
            ("Block4.SETDET.AMT[3].F19A.Currency", "EUR"),
            ("Block5.CHK", "123456789ABC"),
        ],
    )
    def test_is_blocks_sequences_fields_and_components(self, path: str, value: object) -> None:
        data = mt543().replace(b":12A::CLAS/ISIT/BOND", b":12A::CLAS//BONDISIT")
        if value is None:
            assert at(part(data), path.rpartition(".")[0]).first("Issuer") is None
        else:
            assert at(part(data), path).value == value

    def test_of_a_message_without_a_model_has_qualifier_issuer_and_value(self) -> None:
        tree = part(message(*GENL, ":22F::ABCD/ISSUER/WXYZ", ":79:FREE", "TEXT"), ANY)
        assert at(tree, "Block4.F22F.Issuer").value == "ISSUER"
        assert at(tree, "Block4.F22F.Value").value == "WXYZ"
        assert at(tree, "Block4.F79").value == "FREE\r\nTEXT"
        assert at(tree, "Block4.GENL.F20C.Qualifier").value == "SEME"


class TestLaziness:
    def test_a_field_that_does_not_fit_is_found_only_by_who_looks_at_it(self) -> None:
        tree = part(mt543().replace(b":98A::SETT//20031107", b":98A::SETT//TOMORROW"))
        assert at(tree, "Block4.TRADDET.F35B.ISIN").value == "DE0001234567"
        with pytest.raises(FormatProblem):
            at(tree, "Block4.TRADDET.F98A.Date")

    def test_the_catalogue_reads_them_in_domain_mrm(self) -> None:
        tree = Catalogue(MODELS).part_of("MRM", mt543(), MT543)
        assert at(tree, "Block4.GENL.F20C.Qualifier").value == "SEME"


class TestWriting:
    @pytest.mark.parametrize("line_end", ["\r\n", "\n"])
    def test_gives_the_same_bytes_when_everything_was_looked_at(self, line_end: str) -> None:
        data = mt543(line_end=line_end)
        tree = part(data)
        assert everything(tree) > 800
        tree.touch()
        assert tree.bytes() == data

    def test_gives_the_same_bytes_when_every_field_is_put_together_again(self) -> None:
        data = mt543()
        tree = part(data)
        for element in list(tree.descendants()):
            element.touch()
        assert tree.bytes() == data

    def test_of_a_copy_is_the_same(self) -> None:
        data = mt543()
        tree = part(data)
        at(tree, "Block4.GENL.F20C.Reference").set_value("CHANGED")
        copy = tree.copy()
        at(copy, "Block5.MAC").set_value("0")
        assert copy.bytes() == tree.bytes().replace(b"{MAC:12AB34CD}", b"{MAC:0}")

    def test_takes_a_new_text_for_a_whole_field(self) -> None:
        tree = part(mt543())
        at(tree, "Block4.GENL.F23G").set_value("CANC")
        assert b"\r\n:23G:CANC\r\n" in tree.bytes()

    def test_builds_a_message_from_nothing(self) -> None:
        tree = Part(MODELS.format(ANY), None, ANY)
        header = tree.append(Element("Block1"))
        for name, value in (
            ("ApplicationId", "F"), ("ServiceId", "01"), ("LogicalTerminal", "BANKBEBBAXXX"),
            ("SessionNumber", "2222"), ("SequenceNumber", "123456"),
        ):  # fmt: skip
            header.append(Element(name, value))
        sequence = tree.append(Element("Block4")).append(Element("GENL"))
        field = sequence.append(Element("F20C"))
        field.append(Element("Qualifier", "SEME"))
        field.append(Element("Value", "REF1"))
        expected = "{1:F01BANKBEBBAXXX2222123456}{4:\r\n:16R:GENL\r\n:20C::SEME//REF1\r\n:16S:GENL\r\n-}"
        assert tree.bytes() == expected.encode()

    def test_keeps_what_follows_the_last_block(self) -> None:
        data = mt543() + b"\r\n"
        tree = part(data)
        at(tree, "Block5.CHK").touch()
        assert tree.bytes() == data

    @given(st.integers(2100, 9000), st.integers(0, 10_000), st.sampled_from(["\r\n", "\n"]))
    @settings(max_examples=20, deadline=None)
    def test_of_any_message_gives_its_bytes(self, size: int, seed: int, line_end: str) -> None:
        data = mt543(size, seed, line_end)
        tree = part(data)
        for element in list(tree.descendants()):
            element.touch()
        assert tree.bytes() == data


class TestProblems:
    @given(st.data())
    @settings(max_examples=60, deadline=None)
    def test_are_all_that_a_damaged_message_can_cause(self, data: st.DataObject) -> None:
        whole = mt543(2100)
        cut = data.draw(st.integers(0, len(whole)))
        tree = part(whole[:cut] + data.draw(st.binary(max_size=3)) + whole[cut + data.draw(st.integers(0, 3)) :])
        with suppress(FormatProblem):
            everything(tree)


def test_messages_for_measurements_have_the_published_size() -> None:
    data = mt543()
    assert len(data) == MEASURED_SIZE
    assert 350 <= data.count(b"\r\n:") <= 420
