"""All models of a flow by name, and the formats that they are compiled to."""

import pickle
from pathlib import Path

import pytest

from flow.formats.model.order_model import ORDER, loaded
from heliograph.errors import Problem
from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Text


def test_what_is_the_only_one_need_not_be_named() -> None:
    message, form = loaded(ORDER).find(Text(message_format="CWF2"))
    assert (message.name, form.name) == ("Order", "CWF2")
    with pytest.raises(Problem, match="do not name a physical format; model m has CWF1, CWF2"):
        loaded(ORDER).find(Text())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (Text(message_set="x"), "has no model x; it has m"),
        (Text(message_type="x"), "model m has no message x; it has Order"),
        (Text(message_format="x"), "model m has no physical format x; it has CWF1, CWF2"),
    ],
)
def test_names_that_nobody_knows_are_refused(text: Text, said: str) -> None:
    with pytest.raises(Problem, match=said):
        loaded(ORDER).format(text)


def test_a_folder_is_loaded_and_imported_files_are_no_models_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.model.yaml").write_text("import: [{file: b.cpy, format: COBOL}]")
    (tmp_path / "b.cpy").write_text("       01  REC.\n           05  A PIC X.\n")
    (tmp_path / "c.cpy").write_text("       01  REC.\n           05  A PIC X.\n")
    (tmp_path / "notes.txt").write_text("no model")
    models = Models.load(tmp_path)
    assert sorted(models.models) == ["a", "c"]
    assert list(models.models["a"].formats) == ["COBOL"]
    assert Models.load(tmp_path / "missing").models == {}


def test_models_are_pickled_as_their_sources() -> None:
    models = loaded(ORDER)
    _ = models.format(Text(message_format="CWF1"))
    again = pickle.loads(pickle.dumps(models))
    assert again.sources == models.sources
    assert again.models == models.models
