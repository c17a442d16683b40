"""Tests are where one looks for them: tests/ROOM/FOLDER/test_MODULE.py for src/heliograph/ROOM/FOLDER/MODULE.py."""

import ast
from pathlib import Path

import pytest

import scheduling

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src" / "heliograph", ROOT / "tests"
WITH_A_TEST_EACH = ("mqtt", "amqp", "log", "broker", "flow/language/esql", "flow/formats")
"""Rooms and packages of which every module has a test module of its name."""
ABOUT_MANY_MODULES = {"documentation", "examples", "first_release"}
"""Folders of tests that are not about one package."""


def has_behaviour(module: Path) -> bool:
    """Whether there is a function or a method in it that does anything."""
    functions = (
        node
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(not is_only_text(step) for function in functions for step in function.body)


def is_only_text(step: ast.stmt) -> bool:
    """A docstring, or the dots of a Protocol."""
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def modules_below(folder: str) -> list[Path]:
    return [
        module
        for module in sorted((SOURCE / folder).rglob("*.py"))
        if module.name not in {"__init__.py", "errors.py"} and has_behaviour(module)
    ]


@pytest.mark.parametrize("folder", WITH_A_TEST_EACH)
def test_each_module_has_its_test_module(folder: str) -> None:
    missing = []
    for module in modules_below(folder):
        inside = module.relative_to(SOURCE)
        if not (TESTS / inside.with_name(f"test_{inside.name}")).is_file():
            missing.append(str(inside))
    assert missing == []


def test_files_that_the_scheduling_of_tests_names_exist() -> None:
    files = [name.split("::")[0] for name in (*scheduling.WITH_SPARK, *scheduling.LONG)]
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_folders_of_tests_are_those_of_the_source() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    strange = []
    for room in sorted(rooms):
        for folder in sorted((TESTS / room).rglob("*")):
            inside = folder.relative_to(TESTS)
            if (
                any(folder.glob("test_*.py"))
                and folder.name not in ABOUT_MANY_MODULES
                and not (SOURCE / inside).is_dir()
            ):
                strange.append(str(inside))
    assert strange == []
