"""What `make` sets up is enough for what people do next."""

import re
import subprocess
from pathlib import Path

from heliograph.cli.commands import COMMANDS

PROJECT = Path(__file__).parents[1]


def test_after_make_run_every_command_has_what_it_needs() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "run"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    found = re.search(r"-e '\.\[([\w,]+)\]'", done.stdout)
    assert found is not None
    commands = [one for command in COMMANDS.values() for one in (command, *command.actions.values())]
    assert {extra for command in commands if command.extra for extra in command.extra.split(",")} <= set(
        found[1].split(",")
    )
