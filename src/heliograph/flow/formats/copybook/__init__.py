"""COBOL copybooks as models: records become messages of a CWF format."""

from collections.abc import Mapping
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.formats.copybook.copybook_importing import import_items
from heliograph.flow.formats.copybook.copybook_items import items
from heliograph.flow.formats.copybook.sentences import sentences
from heliograph.flow.formats.model.model_kinds import Imported


def import_messages(
    text: str, file: str, options: Mapping[str, Any], place: Place, _others: Mapping[str, str]
) -> Imported:
    """The records of a copybook."""
    return import_items(items(sentences(text, file)), file, options, place)
