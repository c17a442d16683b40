"""The tree of exceptions in docs/reference/errors.md, made from the sources.

python tests/errors_page.py     writes it anew
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE = ROOT / "docs" / "reference" / "errors.md"
BEGIN = "<!-- Made from the sources: python tests/errors_page.py -->\n"
END = "<!-- The end of what is made. -->\n"
KINDS = ("HeliographError", "Problem", "InvalidInput", "StorageError", "Unreachable", "NotInstalled")
_PYTHON = {
    "Exception",
    "ValueError",
    "KeyError",
    "LookupError",
    "RuntimeError",
    "OSError",
    "TypeError",
    "ConnectionError",
}


@dataclass
class Module:
    """What a module declares and imports."""

    name: str
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    """By name in this module: the full name of what it stands for."""


@dataclass
class Raised:
    """An exception class."""

    name: str
    module: str
    bases: list[str]
    meaning: str

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def room(self) -> str:
        return self.module.split(".")[1]


def modules() -> dict[str, Module]:
    """All modules of the package."""
    found = {}
    for file in sorted((SOURCE / "heliograph").rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        module = Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                module.classes[node.name] = node
            elif isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    module.imported[name.asname or name.name] = f"{node.module}.{name.name}"
            elif isinstance(node, ast.Import):
                for name in node.names:
                    module.imported[name.asname or name.name] = name.name
        found[module.name] = module
    return found


def exceptions() -> dict[str, Raised]:
    """All exception classes whose names do not begin with an underscore, by full name."""
    known = modules()

    def resolved(name: str) -> str:
        """Where something is declared, whatever it is imported through."""
        module, _, last = name.rpartition(".")
        if module in known and last in known[module].imported:
            return resolved(known[module].imported[last])
        return name

    def base_of(module: Module, node: ast.expr) -> str:
        text = ast.unparse(node)
        first, _, rest = text.partition(".")
        if first in module.classes:
            return f"{module.name}.{text}"
        if first in module.imported:
            return resolved(f"{module.imported[first]}.{rest}" if rest else module.imported[first])
        return text

    declared = {
        f"{module.name}.{name}": Raised(
            name,
            module.name,
            [base_of(module, base) for base in node.bases],
            " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split()),
        )
        for module in known.values()
        for name, node in module.classes.items()
    }

    def is_exception(name: str) -> bool:
        return name in _PYTHON or (name in declared and any(map(is_exception, declared[name].bases)))

    return {name: found for name, found in declared.items() if is_exception(name) and not found.name.startswith("_")}


def tables() -> str:
    """The kinds, then the exceptions of each room, then what is no `HeliographError`."""
    known = exceptions()
    lines = [
        BEGIN,
        *_tree(known, [known[f"heliograph.errors.{name}"] for name in KINDS]),
    ]
    rooms = sorted({found.room for found in known.values()} - {"errors"})
    for room in rooms:
        of_room = [found for found in known.values() if found.room == room and _is_ours(found, known)]
        if of_room:
            lines += ["", f"## {room}", "", *_tree(known, of_room)]
    signals = [found for found in known.values() if not _is_ours(found, known)]
    if signals:
        lines += ["", "## Signals inside of a room", ""]
        lines += ["These are caught where they are raised, or by the module that called, and never reach a user:", ""]
        lines += ["| exception | module | meaning |", "|---|---|---|"]
        lines += [f"| `{found.name}` | `{found.module}` | {_cell(found.meaning)} |" for found in signals]
    return "\n".join([*lines, "", END])


def _is_ours(found: Raised, known: dict[str, Raised]) -> bool:
    if found.full_name == "heliograph.errors.HeliographError":
        return True
    return any(base in known and _is_ours(known[base], known) for base in found.bases)


def _tree(known: dict[str, Raised], of_room: list[Raised]) -> Iterator[str]:
    names = {found.full_name for found in of_room}
    yield "| exception | is also | module | meaning |"
    yield "|---|---|---|---|"

    def rows(found: Raised, depth: int) -> Iterator[str]:
        parent = next((base for base in found.bases if base in names), "")
        others = ", ".join(f"`{base.rpartition('.')[2]}`" for base in found.bases if base != parent)
        indent = "&nbsp;" * 4 * depth
        yield f"| {indent}`{found.name}` | {others} | `{found.module}` | {_cell(found.meaning)} |"
        for child in of_room:
            if next((base for base in child.bases if base in names), "") == found.full_name:
                yield from rows(child, depth + 1)

    for found in of_room:
        if not any(base in names for base in found.bases):
            yield from rows(found, 0)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def written(page: str) -> str:
    """The page with these tables."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{tables()}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
