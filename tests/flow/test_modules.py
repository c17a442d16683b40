"""Modules of flows do not import each other in circles, and packages have what they say they have."""

import ast
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import heliograph.flow

FOLDER = Path(heliograph.flow.__file__).parent


def modules() -> dict[str, Path]:
    """All modules of the room, by name."""
    found = {}
    for path in FOLDER.rglob("*.py"):
        parts = path.relative_to(FOLDER.parents[1]).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the room that a module names in imports, wherever they stand."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            names |= {
                f"{node.module}.{one.name}" if f"{node.module}.{one.name}" in known else node.module
                for one in node.names
            }
        elif isinstance(node, ast.Import):
            names |= {one.name for one in node.names if one.name in known}
    return names


def test_there_are_no_circles_not_even_for_types_or_inside_of_functions():
    known = modules()
    assert len(known) > 100
    try:
        TopologicalSorter({name: imported(path, known) - {name} for name, path in known.items()}).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


PACKAGES = sorted(path.name for path in FOLDER.iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_the_names_that_it_shows(package):
    module = import_module(f"heliograph.flow.{package}")
    imports = [
        node
        for node in ast.walk(ast.parse((FOLDER / package / "__init__.py").read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heliograph.flow.")
    ]
    assert imports
    for node in imports:
        # A lazy package shows its names twice: to type checkers as imports, and in its table to those who run it.
        for one in node.names:
            assert (
                getattr(module, one.name) is getattr(import_module(node.module), one.name, None) or one.name == "syntax"
            )
    with pytest.raises(AttributeError, match=r"has no attribute '?missing"):
        _ = module.missing
