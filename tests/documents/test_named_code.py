"""Modules and functions that documents name are there."""

import ast
import re

import pytest

from documentation import DOCUMENTS

ROOT = DOCUMENTS.parent
SOURCE = ROOT / "src" / "heliograph"
MODULES = {file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py")}
NAMED = re.compile(r"`((?:[a-z_]+/)*[a-z_]+\.py)\b[^`]*`")
STEP = re.compile(r"^\d+\. `([\w/]+\.py)`(.*?)(?=^\d+\. |^$)", re.MULTILINE | re.DOTALL)


def _is_there(name: str) -> bool:
    elsewhere = (ROOT / name).exists() or any((ROOT / "tests").rglob(name))
    return elsewhere or any(module == name or module.endswith(f"/{name}") for module in MODULES)


@pytest.mark.parametrize("page", ["../CONTRIBUTING.md", "design/architecture.md", "reference/lab-load.md"])
def test_modules_that_are_named_are_there(page: str) -> None:
    named = NAMED.findall((DOCUMENTS / page).read_text())
    assert sorted(name for name in set(named) if not _is_there(name)) == []


def _names(module: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse((SOURCE / module).read_text())):
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}.{one.name}" for one in methods}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


WALK = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## A walk ")[2].partition("\n## ")[0]
STEPS = STEP.findall(WALK)


def test_the_walk_has_at_most_fifteen_modules() -> None:
    assert 10 < len(STEPS) == len({module for module, _ in STEPS}) <= 15


@pytest.mark.parametrize(("module", "text"), STEPS, ids=[module for module, _ in STEPS])
def test_the_functions_of_a_step_are_there(module: str, text: str) -> None:
    known = set().union(*(_names(one) for one, _ in STEPS))
    named = set(re.findall(r"`([A-Za-z_][\w.]*)`", text))
    assert module in MODULES
    assert named - known == set()
