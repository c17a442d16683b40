"""docs/guides/queues.md: what stands there can be pasted and works."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import PATIENCE, RunningServer, environment, servers

TEXT = (Path(__file__).parents[3] / "docs" / "guides" / "queues.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with all that the page configures, but on ports that nobody has."""
    config = "\n".join(blocks("toml")).replace('protocol = "amqp"  ', 'protocol = "amqp"\nport = 0  ')
    with servers(tmp_path_factory.mktemp("page")) as start:
        yield start(f"{config}\n[http]\nport = 0\n")


def test_the_commands_of_the_page_can_be_pasted(server: RunningServer, tmp_path: Path) -> None:
    helio = tmp_path / "helio"
    place = server.url("amqp")
    helio.write_text(
        "#!/bin/sh\n"
        "# The page speaks of the default port; here the server has another one.\n"
        'for word do shift; set -- "$@" "$(printf %s "$word" | sed "s,amqp://127.0.0.1:5672,$SERVER,")"; done\n'
        'case "$*" in *--url*) ;; *) set -- "$@" --url "$SERVER" ;; esac\n'
        f'exec "{sys.executable}" -m heliograph.cli.main "$@"\n'
    )
    helio.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-x"],
        input="\n".join(blocks("sh")),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(PATH=path, SERVER=place),
        timeout=4 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "PAYMENTS is running" in done.stdout
    assert "2 commands read" not in done.stdout
    assert "3 commands read, 0 have syntax errors, 0 failed" in done.stdout
    assert "ten euros" in done.stdout


@pytest.mark.parametrize("program", blocks("python"), ids=["units of work", "management"])
def test_the_programs_of_the_page_can_be_pasted(server: RunningServer, program: str) -> None:
    text = program.replace("amqp://127.0.0.1:5672", server.url("amqp"))
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
