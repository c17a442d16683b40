"""`helio flow new`: what it makes is complete."""

from pathlib import Path

import pytest

from cli.queue_server import helio
from heliograph.cli.flow.new import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_flow_passes_lint_and_its_tests(tmp_path: Path, kind: str) -> None:
    folder = str(tmp_path / "shop")
    assert helio("flow", "new", folder, "--kind", kind)[0] == 0
    assert helio("flow", "lint", folder) == (0, "1 flow checked: no mistakes, no warnings\n", "")
    status, out, err = helio("flow", "test", folder)
    assert (status, err) == (0, ""), out
    assert out.endswith(", 0 failed\n")
    assert "0 passed" not in out


def test_it_is_a_routing_flow_that_has_the_name_of_its_folder(tmp_path: Path) -> None:
    status, out, _ = helio("flow", "new", str(tmp_path / "my orders"))
    assert status == 0
    assert "flow: my-orders\n" in (tmp_path / "my orders" / "flow.yaml").read_text()
    readme = (tmp_path / "my orders" / "README.md").read_text()
    assert readme.startswith("# my-orders\n\nSends orders to one of two queues")
    assert out.splitlines()[-1] == f"Next: helio flow test {tmp_path / 'my orders'}"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text("mine")
    status, _, err = helio("flow", "new", str(tmp_path))
    assert status == 1
    assert (
        err
        == f"helio flow: {tmp_path} exists already, and nothing is overwritten; name a folder that is new or empty\n"
    )
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path) -> None:
    assert helio("flow", "new", str(tmp_path))[0] == 0


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = helio("flow", "new", str(tmp_path / "file" / "flow"))
    assert (status, err.endswith("cannot be written: Not a directory\n")) == (1, True)
