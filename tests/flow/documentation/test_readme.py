"""README.md: what it says of flows can be pasted and works."""

import os
import re
import subprocess
import sys

import pytest

from documentation import DOCUMENTS
from heliograph.flow.testing import run_tests
from running import PATIENCE, environment, servers

ROOT = DOCUMENTS.parent
SECTION = (ROOT / "README.md").read_text().partition("\n## Message flows\n")[2].partition("\n## ")[0]
COMMANDS, *FILES = re.findall(r"```\w+\n(.*?)```", SECTION, re.DOTALL)
SERVER = '[[listener]]\nprotocol = "amqp"\nport = 0\n[http]\nport = 0\n'


@pytest.fixture
def helio(tmp_path):
    """A `helio` that finds the test's server, in a folder for the PATH."""
    with servers(tmp_path) as serve:
        url = serve(SERVER).url("amqp")
        program = tmp_path / "bin" / "helio"
        program.parent.mkdir()
        program.write_text(
            "#!/bin/sh\n"
            f'case "$1 $2" in "flow run") set -- "$@" --server {url} --state "{tmp_path}/state" ;;\n'
            f'queue*) set -- "$@" --url {url} ;; esac\n'
            f'exec "{sys.executable}" -m heliograph.cli.main "$@"\n'
        )
        program.chmod(0o755)
        yield program.parent


def test_the_commands_can_be_pasted(helio):
    install, *commands = COMMANDS.splitlines(keepends=True)
    assert "'.[flow]'" in install
    script = "".join(commands) + "wait\n"
    done = subprocess.run(
        ["sh", "-e", "-x"],
        input=script,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(PATH=f"{helio}:{os.environ['PATH']}"),
        timeout=4 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "0 failed" in done.stdout
    assert "in (QueueInput ORDERS.NEW)" in done.stdout
    assert "<Order><Value>1250</Value></Order>\n" in done.stdout


def test_the_flow_and_its_case_do_what_they_say(tmp_path):
    flow, case = FILES
    (tmp_path / "tests").mkdir()
    (tmp_path / "flow.yaml").write_text(flow)
    (tmp_path / "tests" / "valuable.yaml").write_text(case)
    example = (ROOT / "examples" / "flows" / "routing" / "routing.esql").read_text()
    (tmp_path / "routing.esql").write_text(example)
    report = run_tests(tmp_path)
    assert report.passed, report.text()


def test_pages_that_are_named_are_there():
    names = re.findall(r"\]\(((?:docs|examples)/[^)#]+)\)", (ROOT / "README.md").read_text())
    assert [name for name in names if not (ROOT / name).exists()] == []
