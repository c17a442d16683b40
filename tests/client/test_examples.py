"""The examples of the client print what they should."""

import subprocess
import sys
from pathlib import Path

import pytest

from running import environment, servers

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "request_reply.py": ["chair 40", "table 120", "unicorn None"],
    "work_queue.py": [
        "gave up on order 2 after 3 times",
        "invoice {'for': 0, 'sum': 40}",
        "invoice {'for': 1, 'sum': 120}",
        "invoice {'for': 3, 'sum': 15}",
    ],
    "durable_subscriber.py": ["missed sunny", "missed rain", "missed snow"],
    "asyncio_client.py": ["the numbers add up to 499500"],
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    example = (ROOT / "examples" / "queues.toml").read_text()
    config = example.replace('"amqp"', '"amqp"\nport = 0') + "[http]\nport = 0\n"
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield f"amqp://127.0.0.1:{serve(config).port_of('amqp')}"


def run(*command: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *command], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_example_is_expected_to_print_something():
    assert {file.name for file in (ROOT / "examples").glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_prints_what_it_should(url, name):
    assert run(str(ROOT / "examples" / name), url) == EXPECTED[name]
