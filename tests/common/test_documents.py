"""YAML files: what stands for too much is refused at once, wherever YAML is read."""

import time

import pytest

from heliograph.cli.main import main
from heliograph.common.documents import DEEPEST, Place, read_document, read_entries
from heliograph.errors import Problem

LAUGHS = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
CHAIN = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 5000))
MANY = "this file has more than 200000 entries, with what its aliases stand for"
DEEP = f"there are more than {DEEPEST} levels in each other here"
REFUSED = {
    "aliases of aliases": (LAUGHS, MANY),
    "entries": ("- 1\n" * 200_001, MANY),
    "aliases in each other": (CHAIN, DEEP),
    "lists": ("[" * 100_000, DEEP),
    "mappings": ("{a: " * 100_000, DEEP),
    "items": ("- " * 50_000 + "a", DEEP),
    "lines": ("\n".join(" " * n + "a:" for n in range(2000)), DEEP),
    "itself": ("a: &a [*a]", "*a stands for something that it is in itself"),
    "digits": ("a: " + "9" * 10_000, "this is not of the type int"),
    "no boolean": ("a: !!bool perhaps", "this is not of the type bool"),
    "no time": ("a: !!timestamp soon", "this is not of the type timestamp"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_stands_for_too_much_is_refused(text: str, said: str) -> None:
    told: list[str] = []
    began = time.process_time()
    read_document(text, "flow.yaml", lambda place, problem: told.append(problem))
    assert told == [said]
    with pytest.raises(Problem, match=r"^flow.yaml:\d+:\d+: ") as caught:
        _ = read_entries(text, "flow.yaml", lambda place, problem: Problem(f"{place}: {problem}")).value
    assert said in str(caught.value)
    assert time.process_time() - began < 10


def test_aliases_and_levels_that_are_no_more_than_that_are_read() -> None:
    text = "a: &a [1, 2]\nb: [*a, *a]\nc: " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    told: list[tuple[Place, str]] = []
    value = read_document(text, "flow.yaml", lambda place, problem: told.append((place, problem))).value
    assert (value["b"], told) == ([[1, 2], [1, 2]], [])


def test_a_flow_of_aliases_is_refused_by_the_checks(tmp_path, capsys) -> None:
    (tmp_path / "flow.yaml").write_text(LAUGHS)
    assert main(["flow", "lint", str(tmp_path)]) != 0
    assert MANY in "".join(capsys.readouterr())
