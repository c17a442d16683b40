"""The documentation against the declarations of attributes: its tables are what `helio config reference` writes."""

import re
import tomllib
from pathlib import Path

import pytest

from heliograph.cli.server import config as config_reference
from heliograph.objects.attributes import attributes_of
from heliograph.objects.object_tables import TableReader
from heliograph.objects.reference import with_tables
from heliograph.server.config.loading import Config

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [DOCS / "reference" / "configuration.md", DOCS / "reference" / "queues.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert text == with_tables(text, config_reference.table), (
        "run: helio config reference docs/reference/configuration.md docs/reference/queues.md"
    )


def test_every_table_is_in_the_documentation() -> None:
    text = "".join(page.read_text() for page in PAGES)
    assert sorted(re.findall(r"<!-- table: (\w+) -->", text)) == sorted(config_reference.NAMES)


@pytest.mark.parametrize("table", attributes_of(Config), ids=lambda table: table.key)
def test_every_attribute_is_described(table: object) -> None:
    kind = getattr(table, "type", None)
    assert isinstance(kind, type)
    declared = attributes_of(kind)
    assert declared
    assert all(attribute.about.description.endswith(".") for attribute in declared)


def test_the_examples_have_only_keys_that_exist(tmp_path: Path) -> None:
    for example in re.findall(r"```toml\n(.*?)```", PAGES[0].read_text(), re.DOTALL):
        reader = TableReader(tmp_path)
        reader.values(Config, tomllib.loads(example))
        assert [found for found in reader.mistakes if "No such file" not in found[1]] == []
