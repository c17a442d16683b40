"""docs/reference/formats.md: its models read, write and refuse as shown, and its tables are those of the code."""

import re
from dataclasses import dataclass, field

import pytest

from documentation import Block, blocks, section
from esql_examples import literal
from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats import Catalogue
from heliograph.flow.formats.catalogue import FORMATS
from heliograph.flow.formats.copybook.copybook_importing import OPTIONS
from heliograph.flow.formats.csv import OWN
from heliograph.flow.formats.cwf.cwf_plan import PROPERTIES as CWF
from heliograph.flow.formats.model import Models
from heliograph.flow.formats.model.logical import Type
from heliograph.flow.formats.model.model_kinds import KINDS
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import PROPERTIES as XML
from heliograph.flow.formats.tds.tds_plan import PROPERTIES as TDS
from heliograph.flow.formats.tds.tds_plan import Separation
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.element_types import ROLES, Role

FILE = "reference/formats.md"


@dataclass
class Example:
    """A message in the document, the models around it, and what is said of it."""

    block: Block
    sources: dict[str, str]
    then: list[Block] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{FILE}:{self.block.line}"

    @property
    def how(self) -> str:
        """`read` or `problem`."""
        return self.block.title.split()[0]

    @property
    def text(self) -> Text:
        """How it is read: the model is the last that stands before it."""
        _, form, *rest = self.block.title.split()
        message = rest[0] if rest and rest[0] != "with" else ""
        if form in FORMATS:
            return Text()
        return Text(message_set=_models(self.sources)[-1], message_type=message, message_format=form)

    @property
    def data(self) -> bytes:
        """Its bytes."""
        if self.block.kind == "hex":
            return bytes.fromhex(self.block.text)
        text = self.block.text.removesuffix("\n")
        if self.block.title.endswith("with CRLF"):
            return text.replace("\n", "\r\n").encode()
        return (text + "\n" * self.block.title.endswith("with line end")).encode()

    def part(self) -> Part:
        """The message, not read yet."""
        catalogue = Catalogue(Models(self.sources) if self.sources else None)
        domain = self.block.title.split()[1]
        return catalogue.part_of(domain if domain in FORMATS else "MRM", self.data, self.text)

    def told(self, title: str) -> list[Block]:
        """What follows it under this title."""
        return [block for block in self.then if block.title.startswith(title)]


def _models(sources: dict[str, str]) -> list[str]:
    return [name.removesuffix(".model.yaml").rpartition(".")[0] or name.removesuffix(".model.yaml") for name in sources]


def examples() -> list[Example]:
    found: list[Example] = []
    sources: dict[str, str] = {}
    files: dict[str, str] = {}
    for block in blocks(FILE):
        match block.title.split():
            case ["file", name]:
                sources = files = {name: block.text}
            case ["model", name]:
                sources = {**files, f"{name}.model.yaml": block.text}
                files = {}
            case ["read" | "problem", *_]:
                found.append(Example(block, sources))
            case _ if found:
                found[-1].then.append(block)
    return found


EXAMPLES = examples()
GOOD = [example for example in EXAMPLES if example.how == "read"]
BAD = [example for example in EXAMPLES if example.how == "problem"]


def tree(part: Part) -> list[str]:
    """One line for each field that has a value, or nothing below."""
    lines: list[str] = []
    roles = ROLES.get(part.format.domain, {})

    def walk(element: Element, before: str) -> None:
        seen: dict[tuple[str, str], int] = {}
        for child in element.children:
            key = (child.namespace, child.name)
            seen[key] = seen.get(key, 0) + 1
            name = f"{{{child.namespace}}}{child.name}" if child.namespace else child.name
            mark = "@" if roles.get(child.type) is Role.ATTRIBUTE else ""
            path = f"{before}{mark}{name}" + (f"[{seen[key]}]" if seen[key] > 1 else "")
            if child.value is not None or not child.children:
                lines.append(f"{path} = {literal(child.value)}")
            walk(child, f"{path}.")

    walk(part, "")
    return lines


@pytest.mark.parametrize("example", GOOD, ids=str)
def test_a_message_has_the_tree_that_is_shown(example):
    (shown,) = example.told("tree")
    assert tree(example.part()) == shown.text.splitlines()


@pytest.mark.parametrize("example", GOOD, ids=str)
def test_a_message_that_is_not_changed_keeps_its_bytes(example):
    part = example.part()
    tree(part)
    assert part.bytes() == example.data


WRITTEN = [(example, block) for example in GOOD for block in example.told("written")]


@pytest.mark.parametrize(("example", "block"), WRITTEN, ids=[f"{FILE}:{block.line}" for _, block in WRITTEN])
def test_a_message_in_another_format_is_what_is_shown(example, block):
    source = example.part()
    text = Text(message_set=example.text.message_set, message_format=block.title.split()[1])
    target = Catalogue(Models(example.sources)).new_part("MRM", text)
    for child in source.children:
        target.append(child.copy())
    assert target.bytes().decode() == block.text.removesuffix("\n")


@pytest.mark.parametrize("example", BAD, ids=str)
def test_a_bad_message_is_refused_in_the_words_that_are_shown(example):
    (says,) = example.told("says")
    with pytest.raises(FormatProblem) as problem:
        tree(example.part())
    assert says.text.strip() in str(problem.value)


def test_examples_are_found():
    assert len(GOOD) > 8
    assert len(BAD) > 6
    assert all(len(example.told("tree")) == 1 for example in GOOD)


# Tables


def first_columns(text: str) -> set[str]:
    """Names in the first columns of the tables in a text."""
    return {
        name
        for line in text.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([^`]+)`", line.split("|")[1])
    }


def part_of(title: str, begin: str = "", end: str = "") -> str:
    text = section(FILE, title)
    if begin:
        text = text.partition(begin)[2]
    return text.partition(end)[0] if end else text


@pytest.mark.parametrize(
    ("told", "known"),
    [
        pytest.param(part_of("CWF", end="### COBOL"), set(CWF), id="CWF"),
        pytest.param(part_of("CWF", begin="### COBOL"), OPTIONS, id="copybooks"),
        pytest.param(part_of("TDS", begin="| property of groups"), set(TDS), id="TDS"),
        pytest.param(
            part_of("TDS", begin="|---|---|", end="| property of groups"),
            {one.value for one in Separation},
            id="separations",
        ),
        pytest.param(part_of("CSV"), set(OWN), id="CSV"),
        pytest.param(part_of("XML with a model"), set(XML), id="XML"),
    ],
)
def test_all_properties_are_in_the_tables_and_no_others(told, known):
    assert first_columns(told) == known


def test_all_types_are_told():
    (line,) = (line for line in section(FILE, "Models").splitlines() if line.startswith("| `type`"))
    assert set(re.findall(r"`(\w+)`", line)) - {"type"} == {kind.value for kind in Type}


def test_all_choices_of_properties_are_told():
    told = section(FILE, "CWF")
    for name, known in CWF.items():
        for choice in known.choices:
            assert re.search(rf"`{name}`[^\n]*\b{choice}\b", told), (name, choice)


def test_all_kinds_of_formats_are_told():
    text = "".join(block.text for block in blocks(FILE)) + section(FILE, "SWIFT") + section(FILE, "XML with a model")
    assert [kind for kind in KINDS if kind not in text] == []
