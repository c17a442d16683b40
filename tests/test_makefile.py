"""What `make` sets up is enough for what people do next."""

import re
import subprocess
from pathlib import Path

from heliograph.cli.main import EXTRAS

PROJECT = Path(__file__).parents[1]


def test_after_make_run_every_command_has_what_it_needs() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "run"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    found = re.search(r"-e '\.\[([\w,]+)\]'", done.stdout)
    assert found is not None
    assert {extra for extras in EXTRAS.values() for extra in extras.split(",")} <= set(found[1].split(","))
