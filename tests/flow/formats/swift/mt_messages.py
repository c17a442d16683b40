"""SWIFT messages for tests."""

from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Element, Part, Text

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
