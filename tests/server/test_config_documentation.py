"""docs/configuration.md against the schema: every key with its default, and no key that is not there."""

import re
import tomllib
from pathlib import Path

import pytest

from heliograph.objects.attributes import Setting, settings
from heliograph.objects.reading import TableReader
from heliograph.objects.toml import value_text
from heliograph.server.config import Config

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
TABLES = settings(Config)


def documented(table: Setting) -> dict[str, str]:
    """The keys in the section of a table, with their defaults as they stand there."""
    heading = f"## [[{table.key}]]\n" if table.many else f"## [{table.key}]\n"
    section = TEXT.split(heading)[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key)
def test_every_key_is_documented_in_order(table: Setting) -> None:
    assert list(documented(table)) == [setting.key for setting in settings(table.kind)]


@pytest.mark.parametrize("table", [table for table in TABLES if not table.many], ids=lambda table: table.key)
def test_every_default_is_documented(table: Setting) -> None:
    defaults = table.kind()
    expected = {setting.key: f"`{value_text(getattr(defaults, setting.field))}`" for setting in settings(table.kind)}
    assert documented(table) == expected


def test_the_examples_have_only_keys_that_exist(tmp_path: Path) -> None:
    for example in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL):
        reader = TableReader(tmp_path)
        reader.values(Config, tomllib.loads(example))
        assert [mistake for mistake in reader.mistakes if "No such file" not in mistake] == []
