"""SWIFT MT messages: what the tree looks like, that untouched text stays, and what is said about bad messages."""

import pickle
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.format_problem import FormatProblem
from heliograph.flow.formats.model import ModelProblem, Models
from heliograph.flow.formats.swift.swift_fields import FieldFormat
from heliograph.flow.tree import Element, Part, Text
from heliograph.lab.flows.messages import MEASURED_SIZE, mt543

MODELS = Models({"swift.model.yaml": "import: [{file: MT543.mt}]"})
MT543 = Text(message_set="swift", message_type="MT543")
ANY = Text(message_set="swift", message_type="MT")


def part(data: bytes, text: Text = MT543) -> Part:
    return Part(MODELS.format(text), data, text)


def at(element: Element, path: str) -> Element:
    """The element at a path such as `Block4.GENL.F20C[1].Qualifier`."""
    for step in path.split("."):
        name, _, number = step.partition("[")
        found = element.nth(name, int(number.rstrip("]") or 1))
        assert found is not None, path
        element = found
    return element


def everything(element: Element) -> int:
    return 1 + sum(everything(child) for child in element.children)


def message(*lines: str, line_end: str = "\r\n") -> bytes:
    """A message of type 999 with these lines in block 4."""
    body = "".join(line_end + line for line in lines)
    return f"{{1:F01BANKBEBBAXXX2222123456}}{{2:I999CUSTDEFFXXXXN}}{{4:{body}{line_end}-}}".encode()


GENL = (":16R:GENL", ":20C::SEME//REF1", ":23G:NEWM", ":16S:GENL")


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

    def test_of_a_message_from_the_network_names_its_sender(self) -> None:
        data = message(*GENL).replace(b"{2:I999CUSTDEFFXXXXN}", b"{2:O9990930031104CUSTDEFFAXXX00010000020311040931N}")
        assert at(part(data, ANY), "Block2.Sender").value == "CUSTDEFFAXXX"

    def test_of_a_message_without_a_model_has_qualifier_issuer_and_value(self) -> None:
        tree = part(message(*GENL, ":22F::ABCD/ISSUER/WXYZ", ":79:FREE", "TEXT"), ANY)
        assert at(tree, "Block4.F22F.Issuer").value == "ISSUER"
        assert at(tree, "Block4.F22F.Value").value == "WXYZ"
        assert at(tree, "Block4.F79").value == "FREE\r\nTEXT"
        assert at(tree, "Block4.GENL.F20C.Qualifier").value == "SEME"

    def test_has_sequences_inside_sequences_of_the_same_code(self) -> None:
        tree = part(message(":16R:A", ":16R:A", ":20C::SEME//X", ":16S:A", ":16S:A", ":16R:A", ":16S:A"), ANY)
        assert at(tree, "Block4.A.A.F20C.Value").value == "X"
        assert at(tree, "Block4").count("A") == 2

    def test_of_an_acknowledgement_has_the_fields_in_braces(self) -> None:
        tree = part(b"{1:F21BANKBEBBAXXX2222123456}{4:{177:0311040931}{451:0}}", ANY)
        assert at(tree, "Block4.F451").value == "0"


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

    def test_changes_only_what_was_changed(self) -> None:
        data = mt543()
        tree = part(data)
        at(tree, "Block4.SETDET.AMT[5].F19A.Amount").set_value(Decimal("12.50"))
        before, after = data.split(b"\r\n"), tree.bytes().split(b"\r\n")
        assert [line for old, line in zip(before, after, strict=True) if old != line] == [b":19A::SETT//EUR12,50"]

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

    VALUES = st.text(st.sampled_from("AB09/-?:().,'+ "), min_size=1, max_size=30)
    SEQUENCES = st.recursive(
        st.lists(VALUES.map(lambda text: [f":70E::ABCD//{text}"]), max_size=4),
        lambda inner: st.lists(inner.map(lambda lines: [[":16R:SEQ"], *lines, [":16S:SEQ"]]).map(
            lambda pieces: [line for piece in pieces for line in piece]), max_size=4),
        max_leaves=12,
    )  # fmt: skip

    @given(SEQUENCES)
    @settings(max_examples=50, deadline=None)
    def test_of_any_nesting_without_a_model_gives_its_bytes(self, pieces: list[list[str]]) -> None:
        data = message(*GENL, *(line for piece in pieces for line in piece))
        tree = part(data, ANY)
        for element in list(tree.descendants()):
            element.touch()
        assert tree.bytes() == data


class TestProblems:
    @pytest.mark.parametrize(
        ("old", "new", "path", "expected", "found", "line"),
        [
            ("\r\n:23G:NEWM", "", "Block4.GENL", "field 23G", "field 98C", 4),
            (":16R:GENL", ":16R:GENX", "Block4", ":16S:GENX behind :16R:GENX", "the end of what is around it", 2),
            ("\r\n:35B:ISIN DE0001234567", "", "Block4.TRADDET", "field 35B", "sequence FIA", 26),
            (":23G:NEWM", ":23G:NEWMX", "Block4.GENL.F23G", "4!c[/4!c] in field 23G", "'NEWMX'", 4),
            (":11A::DENO", ":1A::DENO", "Block4.TRADDET.FIA", "a tag such as :20C:", ":1A::DENO//EUR", 30),
        ],
        ids=["missing field", "end of sequence", "missing in the middle", "bad content", "bad tag"],
    )
    def test_say_line_path_expected_and_found(
        self, old: str, new: str, path: str, expected: str, found: str, line: int
    ) -> None:
        tree = part(mt543().replace(old.encode(), new.encode(), 1))
        with pytest.raises(FormatProblem) as caught:
            everything(tree)
        problem = caught.value
        assert (problem.path, problem.expected, problem.found, problem.line) == (path, expected, found, line)
        assert problem.format == "SWIFT MT543"

    def test_name_a_missing_sequence(self) -> None:
        data = mt543()
        start, end = data.index(b":16R:FIAC"), data.index(b":16R:REPO")
        with pytest.raises(FormatProblem, match="field Block4: expected sequence FIAC, found sequence REPO"):
            everything(part(data[:start] + data[end:]))

    def test_name_the_message_type_that_came(self) -> None:
        with pytest.raises(FormatProblem, match="expected message type 543, found '999'"):
            everything(part(message(*GENL)))

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b"", "a block such as {1:"),
            (b"MT543", "a block such as {1:"),
            (b"{1:F01", "a block such as {1:...}"),
            (b"{4::20C::SEME//X\r\n-}", "a line end behind {4:"),
            (b"{4:\r\n:20C::SEME//X", "a line with -} at the end of block 4"),
            (b"{4:\r\nSEME\r\n-}", "a field such as :20C:"),
            (b"{1:\xff}", "text in utf-8"),
        ],
    )
    def test_name_what_is_wrong_with_the_blocks(self, data: bytes, expected: str) -> None:
        with pytest.raises(FormatProblem) as caught:
            everything(part(data, ANY))
        assert caught.value.expected == expected

    def test_refuse_to_write_a_component_that_does_not_fit(self) -> None:
        tree = part(mt543())
        at(tree, "Block4.TRADDET.F98A.Date").set_value("tomorrow")
        with pytest.raises(FormatProblem, match=r"field Block4.TRADDET.F98A: expected :4!c//8!n of Qualifier, Date"):
            tree.bytes()

    def test_refuse_to_write_a_message_without_a_mandatory_field(self) -> None:
        tree = part(mt543())
        at(tree, "Block4.GENL.F20C").delete()
        with pytest.raises(FormatProblem, match=r"field Block4\.GENL: expected field 20C, found field 23G"):
            tree.bytes()

    @given(st.data())
    @settings(max_examples=60, deadline=None)
    def test_are_all_that_a_damaged_message_can_cause(self, data: st.DataObject) -> None:
        whole = mt543(2100)
        cut = data.draw(st.integers(0, len(whole)))
        tree = part(whole[:cut] + data.draw(st.binary(max_size=3)) + whole[cut + data.draw(st.integers(0, 3)) :])
        with suppress(FormatProblem):
            everything(tree)


class TestNotation:
    @pytest.mark.parametrize(
        ("notation", "text", "values"),
        [
            (":4!c//16x", ":SEME//A B", ["SEME", "A B"]),
            (":4!c/[8c]/4!c", ":STCO//NPAR", ["STCO", "NPAR"]),
            (":4!c/[8c]/4!c", ":STCO/DSS1/NPAR", ["STCO", "DSS1", "NPAR"]),
            (":4!c//[N]3!a15d", ":SETT//NEUR1,5", ["SETT", "N", "EUR", Decimal("1.5")]),
            ("[ISIN1!e12!c][$4*35x]", "ISIN DE0001234567", ["DE0001234567"]),
            ("[ISIN1!e12!c][$4*35x]", "ONLY TEXT", ["ONLY TEXT"]),
            ("[ISIN1!e12!c][$4*35x]", "ISIN DE0001234567\r\nA\r\nB", ["DE0001234567", "A\r\nB"]),
            ("3*5x", "A\nB\nC", ["A\nB\nC"]),
        ],
    )
    def test_takes_apart_and_puts_together(self, notation: str, text: str, values: list[object]) -> None:
        form = FieldFormat("20C", notation, [f"N{number}" for number in range(5)][: _count(notation)])
        children = form.read(Element("F20C"), text)
        assert children is not None
        assert [child.value for child in children] == values
        line_end = "\r\n" if "\r\n" in text else "\n"
        assert form.write({child.name: child.value for child in children}, line_end) == text

    @pytest.mark.parametrize(
        ("notation", "text"),
        [
            ("4!c", "ABC"), ("4!c", "ABCDE"), ("4!c", "abcd"), ("3n", "A"), ("3n", ""), ("5d", "12345,"), ("5d", "5"),
            ("2*3x", "A\r\nB\r\nC"), ("2*3x", "ABCD"), ("16x", "{"),
        ],
    )  # fmt: skip
    def test_refuses_what_does_not_fit(self, notation: str, text: str) -> None:
        assert FieldFormat("20C", notation).fits(text) is None


def _count(notation: str) -> int:
    return {":4!c//16x": 2, ":4!c/[8c]/4!c": 3, ":4!c//[N]3!a15d": 4, "[ISIN1!e12!c][$4*35x]": 2}.get(notation, 1)


class TestModels:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("message: MT5\nsequences: {MT5: 20C}\nfields: {20C: ['16x']}", "a.mt:1:1: expected a name such as MT543"),
            ("message: MT599\nsequences:\n  MT599: 20C\nfields: {21: ['16x']}", "a.mt:3:3: there is no field 20C"),
            ("message: MT599\nsequences:\n  MT599: GENL\nfields: {}", "a.mt:3:3: there is no sequence GENL"),
            ("message: MT599\nsequences:\n  MT599: A\n  A: A\nfields: {}", "a.mt:4:3: sequence A contains itself"),
            ("message: MT599\nsequences: {MT599: 20C}\nfields:\n  20C: ['4!c', A, B]", "a.mt:4:3: Field 20C"),
            ("message: MT599\nsequences: {MT599: 20C!}\nfields: {20C: [16x]}", "a.mt:2:13: expected a tag such as"),
            ("message: MT599\nsequences: {MT599: 20C}\nfields:\n  20C: ['[4!c']", "a.mt:4:3: Field format '[4!c'"),
            ("message: MT599\nfields: {}", "a.mt:1:1: expected sequences"),
        ],
    )
    def test_say_where_they_are_wrong(self, text: str, said: str) -> None:
        with pytest.raises(ModelProblem) as caught:
            Models({"a.mt": text})
        assert str(caught.value).startswith(said)

    def test_can_be_pickled(self) -> None:
        again = pickle.loads(pickle.dumps(MODELS))
        data = mt543()
        assert at(Part(again.format(MT543), data, MT543), "Block2.MessageType").value == "543"


def test_messages_for_measurements_have_the_published_size() -> None:
    data = mt543()
    assert len(data) == MEASURED_SIZE
    assert 350 <= data.count(b"\r\n:") <= 420
