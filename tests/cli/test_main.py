"""`helio` itself: which command, which help, which exit status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph import __version__
from heliograph.cli.commands import COMMANDS
from heliograph.cli.main import main
from running import environment
from small_flows import write_flow


def test_without_a_command_all_of_them_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name}" in shown for name in COMMANDS)


def test_an_unknown_command_is_an_error_with_the_same_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly"]) == 2
    told = capsys.readouterr().err
    assert "unknown command 'fly'" in told
    assert "serve" in told


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"helio {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: helio {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "action"), [(name, action) for name, command in COMMANDS.items() for action in command.actions]
)
def test_every_action_has_help_with_examples(command: str, action: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, action, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: helio {command} {action}" in shown
    assert f"examples:\n  helio {command} " in shown


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ([], ["asyncio", "heliograph.mqtt", "heliograph.server", "heliograph.client", "heliograph.broker"]),
        (["pub", "--help"], ["asyncio", "heliograph.server", "heliograph.client", "heliograph.broker", "yaml"]),
        (["queue", "--help"], ["heliograph.server", "heliograph.flow", "heliograph.lab", "yaml", "numpy"]),
        (["serve", "--help"], ["heliograph.flow", "heliograph.lab", "heliograph.client", "yaml", "numpy"]),
        (["pipeline", "list", "--help"], ["heliograph.pipeline", "heliograph.server", "pyspark", "pyarrow"]),
        (["bench", "chart", "--help"], ["heliograph.pipeline", "heliograph.server", "pyspark", "yaml"]),
        (["flow", "test", "--help"], ["heliograph.server", "heliograph.lab", "heliograph.pipeline", "sqlalchemy"]),
    ],
    ids=" ".join,
)
def test_a_command_imports_only_what_it_needs(words: list[str], others: list[str]) -> None:
    program = f"""
import contextlib, sys
from heliograph.cli.main import main
with contextlib.suppress(SystemExit):
    main({words!r})
print([name for name in {others!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("words", "package", "extra"), [(["bench"], "psutil", "lab"), (["flow", "lint", "x"], "yaml", "flow")]
)
def test_a_missing_extra_is_named(words: list[str], package: str, extra: str) -> None:
    script = (
        f"import sys; sys.modules[{package!r}] = None\nfrom heliograph.cli.main import main; sys.exit(main({words!r}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"helio {words[0]}: the package {package} is missing; install the extra: pip install")
    assert f"heliograph[{extra}]" in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["lab", "list"], ["config", "show"], ["queue", "--help"]])
def test_a_reader_that_has_gone_is_no_error(words: list[str]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "heliograph.cli.main", *words],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_file_that_cannot_be_written_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = "nodes:\n  in: {type: QueueInput, queue: Q}\n  out: {type: QueueOutput, queue: R}\n"
    folder = write_flow(
        tmp_path, f"{nodes}connections: [in.out -> out]\n", tests___c__yaml="input: a\nexpect: {queues: {R: a}}\n"
    )
    assert main(["flow", "test", str(folder), "--junit", "/no/such/folder/report.xml"]) == 1
    told = capsys.readouterr().err
    assert told == "helio flow: cannot use /no/such/folder/report.xml: no such file or directory\n"
