"""README.md: what it says can be pasted and works."""

from pathlib import Path

from documentation import DOCUMENTS, Page, blocks
from heliograph.flow.testing import run_tests

ROOT = DOCUMENTS.parent
README = ROOT / "README.md"


def test_the_commands_can_be_pasted(tmp_path: Path) -> None:
    page = Page("../README.md", tmp_path)
    page.run()
    printed = "\n".join(page.printed)
    for text in (
        "house/boiler/temperature 81.5",
        "running",
        "two chairs",
        "0 failed",
        "in (QueueInput ORDERS.NEW)",
        "<Order><Value>1250</Value></Order>",
    ):
        assert text in printed


def test_the_flow_and_its_case_do_what_they_say(tmp_path: Path) -> None:
    flow, case = (block.text for block in blocks("../README.md") if block.kind == "yaml")
    (tmp_path / "tests").mkdir()
    (tmp_path / "flow.yaml").write_text(flow)
    (tmp_path / "tests" / "valuable.yaml").write_text(case)
    example = (ROOT / "examples" / "flows" / "routing" / "routing.esql").read_text()
    (tmp_path / "routing.esql").write_text(example)
    report = run_tests(tmp_path)
    assert report.passed, report.text()


def test_it_is_two_screens_long() -> None:
    assert README.stat().st_size <= 8192
