"""Servers for tests that treat them as a user would."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from certificates import Authority
from configurations import all_kinds
from running import Serve, servers
from scheduling import SparkApart, longest_first, mark_spark
from timing import Timing

# For runs that measure coverage: a property needs few examples to run every line.
settings.register_profile("few-examples", max_examples=15, deadline=None)
# How long an example takes says little where several tests run at once; the time limit is that of the whole test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Timing())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_spark(items)
    longest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> SparkApart:
    return SparkApart(config, log)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server with a configuration: `serve(text)`. It is stopped, and its good end checked, after the test."""
    with servers(tmp_path) as start:
        yield start


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A certificate authority; it has issued the certificate in `every_listener`."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def every_listener(authority: Authority) -> str:
    """A configuration with one listener of each kind, and the pages; the socket file is beside the configuration."""
    return all_kinds(authority.issue("server", "every-listener"))
