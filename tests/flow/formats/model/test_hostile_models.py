"""Models that nobody would write by hand: each is a clear problem with its place, in bounded time."""

import time

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Part, Text

LONGEST = 10.0
"""Seconds of CPU time; what is not bounded takes hours."""


def schema(*components: str) -> dict[str, str]:
    text = "\n".join(components)
    return {"m.xsd": f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">\n{text}\n</xs:schema>'}


def element(content: str) -> str:
    return f'<xs:element name="M"><xs:complexType>{content}</xs:complexType></xs:element>'


def including(file: str, component: str) -> str:
    reference = f'<xs:include schemaLocation="{file}"/>' if file else ""
    return schema(reference + component)["m.xsd"]


def copybook(*lines: str) -> dict[str, str]:
    return {"m.cpy": "\n".join(f"       {line}" for line in ("01 R.", *lines))}


def model(members: str, form: str = "kind: XML", types: str = "") -> dict[str, str]:
    return {"m.model.yaml": f"formats: {{F: {{{form}}}}}\n{types}messages: {{M: {{sequence: [{members}]}}}}\n"}


def nested(times: int, inside: str) -> str:
    return "{name: a, sequence: [" * times + inside + "]}" * times


def named_group(number: int, *references: int) -> str:
    inside = "".join(f'<xs:group ref="g{to}"/>' for to in references) or INT
    return f'<xs:group name="g{number}"><xs:sequence>{inside}</xs:sequence></xs:group>'


TWICE = (
    '<xs:complexType name="T{0}"><xs:sequence><xs:element name="a" type="T{1}"/>'
    '<xs:element name="b" type="T{1}"/></xs:sequence></xs:complexType>'
)
DEEP = "<xs:complexType><xs:sequence><xs:element name='a'>" * 300, "</xs:element></xs:sequence></xs:complexType>" * 300
LAUGHS = "".join(f'<!ENTITY {chr(98 + at)} "{f"&{chr(97 + at)};" * 10}">' for at in range(10))
INT = '<xs:element name="x" type="xs:int"/>'
MANY = "".join(f'<xs:element name="a{at}" type="xs:int"/>' for at in range(2001))
SOME = "".join(f'<xs:element name="a{at}" type="xs:int"/>' for at in range(900))
EXTENSION = (
    '<xs:complexType name="T{0}"><xs:complexContent><xs:extension base="T{1}"><xs:sequence>'
    '<xs:element name="a{0}" type="xs:int"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>'
)
PATTERN = (
    '<xs:simpleType><xs:restriction base="xs:string">'
    '<xs:pattern value="a{99999999999}"/></xs:restriction></xs:simpleType>'
)
MT = "message: MT999\nsequences:\n{}fields:\n  20C: [{!r}, Reference]\n"

HOSTILE = {
    "types that multiply": (
        schema(
            *(TWICE.format(at, at + 1) for at in range(40)),
            f'<xs:complexType name="T40"><xs:sequence>{INT}</xs:sequence></xs:complexType>',
            '<xs:element name="M" type="T0"/>',
        ),
        r"m\.xsd:\d+: a: the model has more than 100000 fields and groups",
    ),
    "elements inside each other": (
        schema(f'<xs:element name="M">{DEEP[0]}<xs:simpleType/>{DEEP[1]}</xs:element>'),
        r"m\.xsd:1: ",
    ),
    "a group that is in itself": (
        schema(
            '<xs:group name="g"><xs:sequence><xs:group ref="g"/></xs:sequence></xs:group>',
            element('<xs:group ref="g"/>'),
        ),
        r"m\.xsd:\d+: cannot use this XML schema: Circular definition",
    ),
    "groups that multiply": (
        schema(*(named_group(at, *[at + 1] * 6) for at in range(14)), named_group(14), element('<xs:group ref="g0"/>')),
        r"m\.xsd:17: M: the types up to here have too many elements",
    ),
    "many elements in a group": (
        schema(
            f'<xs:complexType name="T"><xs:choice>{MANY}</xs:choice></xs:complexType><xs:element name="M" type="T"/>'
        ),
        r"m\.xsd:2: T: the types up to here have too many elements: expected at most 4000000 pairs",
    ),
    "many types with many elements": (
        schema(*(f'<xs:complexType name="T{at}"><xs:all>{SOME}</xs:all></xs:complexType>' for at in range(5))),
        r"m\.xsd:6: T4: the types up to here have too many elements",
    ),
    "types that extend each other": (
        schema(
            f'<xs:complexType name="T0"><xs:sequence>{INT}</xs:sequence></xs:complexType>',
            *(EXTENSION.format(at, at - 1) for at in range(1, 50)),
            '<xs:element name="M" type="T49"/>',
        ),
        r"m\.xsd:52: cannot use this XML schema: maximum model recursion depth exceeded",
    ),
    "a chain of files": (
        {f"m{at}.xsd": including(f"m{at + 1}.xsd" if at < 2000 else "", element("")) for at in range(2001)},
        r"m200\.xsd:1: expected at most 200 files in one schema",
    ),
    "a union that is in itself": (
        schema(
            '<xs:simpleType name="T"><xs:union memberTypes="T xs:int"/></xs:simpleType>',
            element('<xs:sequence><xs:element name="a" type="T"/></xs:sequence>'),
        ),
        r"m\.xsd:\d+: cannot use this XML schema: Circular definition",
    ),
    "entities that multiply": (
        {"m.xsd": f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{LAUGHS}]>' + schema(element(""))["m.xsd"]},
        r"m\.xsd:1: cannot use this XML schema: Entities are forbidden",
    ),
    "no XML": (schema("<!--" * 50_000), r"m\.xsd:\d+: cannot use this XML schema: "),
    "references without an end": (schema("<import " * 50_000), r"m\.xsd:2: cannot use this XML schema: "),
    "a file's name instead of a schema": (
        {"m.xsd": "schema.xsd"},
        r"m\.xsd:1: cannot use this XML schema: syntax error",
    ),
    "a pattern that counts too far": (
        schema(element(f'<xs:sequence><xs:element name="a">{PATTERN}</xs:element></xs:sequence>')),
        r"m\.xsd:\d+: cannot use this XML schema: the repetition number is too large",
    ),
    "a default that is too large": (
        schema(element(f'<xs:sequence><xs:element name="a" type="xs:integer" default="{"9" * 30}"/></xs:sequence>')),
        r"m\.xsd:2: a: expected a value of type integer, found 999",
    ),
    "a large table": (copybook("05 A PIC X OCCURS 999999999."), r"m\.cpy:1: .*at most 100000000 bytes"),
    "tables in tables": (
        copybook(*(f"{at:02} G{at} OCCURS 999999999." for at in range(2, 12)), "49 A PIC X."),
        r"m\.cpy:1: .*at most 100000000 bytes",
    ),
    "a large table with a count": (
        copybook("05 N PIC 9(9).", "05 A PIC X OCCURS 0 TO 999999999 DEPENDING ON N."),
        r"m\.cpy:1: .*at most 100000000 bytes",
    ),
    "many tables in tables": (
        copybook(*(f"{at:02} G{at} OCCURS 2." for at in range(2, 27)), "49 A PIC X."),
        r"m\.cpy:1: R: groups are inside each other too deeply",
    ),
    "many redefinitions in redefinitions": (
        copybook(
            *(line for at in range(2, 48) for line in (f"{at:02} A{at} PIC X.", f"{at:02} B{at} REDEFINES A{at}.")),
            "49 A PIC X.",
        ),
        r"m\.cpy:1: R: groups are inside each other too deeply",
    ),
    "a large number of occurrences": (
        copybook(f"05 A PIC X OCCURS {'9' * 40}."),
        r"m\.cpy:2: A OCCURS: expected a number",
    ),
    "a number in other digits": (copybook("05 A PIC X OCCURS ²2."), r"m\.cpy:2: A OCCURS: expected a number, found ²2"),
    "a level in other digits": (copybook("0² A PIC X."), r"m\.cpy:2: expected a level number, found 0²"),
    "a level that there is not": (copybook("50 A PIC X."), r"m\.cpy:2: expected a level number, found 50"),
    "a large text": (copybook("05 A PIC X(999999999)."), r"m\.cpy:1: .*at most 100000000 bytes"),
    "a larger text": (copybook("05 A PIC X(99999999999999999999)."), r"m\.cpy:2: A: expected a picture"),
    "a large number": (copybook("05 A PIC 9(999999999)."), r"m\.cpy:2: A: expected a picture"),
    "a number with many zeros": (copybook("05 A PIC 9P(99999999)."), r"m\.cpy:2: A: expected a picture"),
    "a line with many continuations": (
        {"m.cpy": "       01 R.\n       05 A PIC X VALUE '" + "a\n      -    '" * 20_000 + "'.\n"},
        r"m\.cpy:2: expected at most 2000 characters in a line",
    ),
    "types of a model file that multiply": (
        model(
            "{name: a, type: T0}",
            types="types:\n"
            + "".join(
                f"  T{n}: {{sequence: [{{name: a, type: T{n + 1}}}, {{name: b, type: T{n + 1}}}]}}\n" for n in range(30)
            )
            + "  T30: {sequence: [{name: x, type: string}]}\n",
        ),
        r"m\.model\.yaml:\d+:\d+: \w+: the model has more than 100000 fields and groups",
    ),
    "groups of a model file inside each other": (
        model(nested(2000, "")),
        r"m\.model\.yaml:2:\d+: there are more than 100 levels in each other here",
    ),
    "many occurrences of a fixed field": (
        model("{name: a, type: string, occurs: 999999999, F: {length: 1}}", "kind: CWF"),
        r"m\.model\.yaml:2:\d+: .*at most 100000000 bytes",
    ),
    "a field that no message has room for": (
        model("{name: a, type: string, F: {length: 99999999999999999999}}", "kind: CWF"),
        r"m\.model\.yaml:2:\d+: .*at most 100000000 bytes",
    ),
    "a byte that is none": (
        model("{name: a, type: string, F: {length: 1, fillByte: 300}}", "kind: CWF"),
        r"m\.model\.yaml:2:\d+: fillByte: expected 0 to 255, found 300",
    ),
    "many occurrences that have their places": (
        model("{name: a, type: string, occurs: 0..999999999}, {name: b, type: string}", "kind: TDS, separator: ';'"),
        r"m\.model\.yaml:2:\d+: a: expected room for at most 100000000 characters",
    ),
    "a long field of text": (
        model("{name: a, type: string, F: {length: 999999999999}}", "kind: TDS, dataElementSeparation: fixedLength"),
        r"m\.model\.yaml:2:\d+: length: expected 1 to 100000000",
    ),
    "choices that are none": (
        {"m.model.yaml": "import: [{file: r.cpy, choices: 5}]\n", "r.cpy": copybook("05 A PIC X.")["m.cpy"]},
        r"m\.model\.yaml:1:\d+: choices: expected `by` and `values`",
    ),
    "an import of a file that no file system has": (
        {"m.model.yaml": f"import: [{{file: {'x' * 5000}.mt}}]\n"},
        r"m\.model\.yaml:1:\d+: expected a file beside this one, found 'xxx",
    ),
    "an import from elsewhere": (
        {"m.model.yaml": "import: [{file: ../swift/MT543.mt}]\n"},
        r"m\.model\.yaml:1:\d+: expected a file beside this one, found '\.\./swift/MT543\.mt'",
    ),
    "sequences of SWIFT that multiply": (
        {
            "m.mt": MT.format(
                "  MT999: A0\n" + "".join(f"  A{n}: A{n + 1} A{n + 1}\n" for n in range(30)) + "  A30: 20C\n", "16x"
            )
        },
        r"m\.mt:\d+:\d+: \w+: the model has more than 100000 fields and groups",
    ),
    "sequences of SWIFT inside each other": (
        {
            "m.mt": MT.format(
                "  MT999: A0\n" + "".join(f"  A{n}: A{n + 1}\n" for n in range(3000)) + "  A3000: 20C\n", "16x"
            )
        },
        r"m\.mt:1: groups or files are inside each other too deeply",
    ),
    "a notation that counts too far": (
        {"m.mt": MT.format("  MT999: 20C\n", "99999999999999999999*99999999999x")},
        r"m\.mt:5:3: 20C: expected a notation of usual size",
    ),
    "brackets inside each other": (
        {"m.mt": MT.format("  MT999: 20C\n", "[" * 3000 + "3x" + "]" * 3000)},
        r"m\.mt:5:3: 20C: expected a notation of usual size",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_a_problem_with_a_place(name: str) -> None:
    sources, said = HOSTILE[name]
    start = time.thread_time()
    with pytest.raises(ModelProblem, match=said):
        for found in Models(sources).models.values():
            for message in found.messages:
                text = Text(message_set=found.name, message_type=message)
                Models(sources).format(text)
    assert time.thread_time() - start < LONGEST


@pytest.mark.parametrize("depth", [0, 300, 600])
def test_a_model_file_has_at_most_a_hundred_levels_however_deep_its_reader_is(depth: int) -> None:
    def read(sources: dict[str, str], calls: int) -> Models:
        return read(sources, calls - 1) if calls else Models(sources)

    field = "{name: x, type: string}"
    with pytest.raises(ModelProblem, match=r"m\.model\.yaml:2:\d+: there are more than 100 levels in each other here"):
        read(model(nested(48, field)), depth)
    if not depth:  # the file, messages, M, its sequence, two levels for each group, and the field
        assert list(read(model(nested(47, field)), depth).models["m"].messages) == ["M"]


def test_a_name_that_no_file_can_have_is_the_name_of_a_message() -> None:
    models = Models({"m.cpy": copybook("05 A PIC X.")["m.cpy"].replace("01 R", "01 R\0")})
    assert models.format(Text(message_set="m", message_type="R\0"))


def test_a_message_that_does_not_fit_a_wide_model_is_told_at_once() -> None:
    members = ", ".join(f"{{name: b{at}, type: integer, occurs: 0..1}}" for at in range(3000))
    models = Models(model(f"{members}, {{name: last, type: integer}}"))
    text = Text(message_set="m", message_type="M")
    form = models.format(text)
    start = time.thread_time()
    with pytest.raises(Problem, match="expected element last"):
        _ = Part(form, b"<M><b1>1</b1></M>", text).children
    with pytest.raises(Problem, match="expected element last"):
        form.write(Part(form, None, text))
    assert time.thread_time() - start < 2


def test_schemas_with_many_types_are_read_in_time() -> None:
    number = 2000
    types = [
        f'<xs:complexType name="T{at}"><xs:sequence>{INT}</xs:sequence></xs:complexType>'
        f'<xs:element name="M{at}" type="T{at}"/>'
        for at in range(number)
    ]
    start = time.thread_time()
    assert len(Models(schema(*types)).models["m"].messages) == number
    assert time.thread_time() - start < LONGEST


def test_a_schema_of_many_files_is_read_once() -> None:
    number = 190
    kind = f'<xs:complexType name="T{{0}}_{{1}}"><xs:sequence>{INT}</xs:sequence></xs:complexType>'
    files = {
        f"m{at}.xsd": including(f"m{at + 1}.xsd", "".join(kind.format(at, which) for which in range(5)))
        for at in range(number)
    }
    files[f"m{number}.xsd"] = including("", element(f"<xs:sequence>{INT}</xs:sequence>"))
    start = time.thread_time()
    models = Models(files).models
    assert [(name, list(found.messages)) for name, found in models.items()] == [("m0", ["M"])]
    assert time.thread_time() - start < LONGEST
