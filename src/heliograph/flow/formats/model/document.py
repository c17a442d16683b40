"""YAML with the line of everything in it, so that a mistake can be pointed at."""

from collections.abc import Iterator
from typing import Any

import yaml

from heliograph.flow.formats.model.logical import Place
from heliograph.flow.formats.model.problem import ModelProblem


class Entry:
    """A mapping, list or scalar of a YAML file."""

    def __init__(self, node: yaml.Node, file: str) -> None:
        self._node = node
        self.place = Place(file, node.start_mark.line + 1)

    @property
    def value(self) -> Any:
        """As Python values."""
        loader = yaml.SafeLoader("")
        try:
            return loader.construct_document(self._node)
        finally:
            loader.dispose()

    def text(self) -> str:
        """The scalar as it is written."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise ModelProblem(self.place, "expected text, found a mapping or a list")
        return str(self._node.value)

    @property
    def is_mapping(self) -> bool:
        """Whether it has names with values."""
        return isinstance(self._node, yaml.MappingNode)

    def mapping(self) -> "dict[str, Entry]":
        """Its values by name."""
        if not isinstance(self._node, yaml.MappingNode):
            raise ModelProblem(self.place, f"expected names with values, found {self.value!r}")
        result: dict[str, Entry] = {}
        for key, value in self._node.value:
            name = str(key.value)
            if name in result:
                raise ModelProblem(Place(self.place.file, key.start_mark.line + 1), f"{name} is there twice")
            result[name] = Entry(value, self.place.file)
            result[name].place = Place(self.place.file, key.start_mark.line + 1)
        return result

    def items(self) -> "Iterator[Entry]":
        """The entries of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise ModelProblem(self.place, f"expected a list, found {self.value!r}")
        for node in self._node.value:
            yield Entry(node, self.place.file)


def parse_yaml(text: str, file: str) -> Entry:
    """The document in this text."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ModelProblem(Place(file, line), error.problem or "this is not YAML") from None
    if node is None:
        raise ModelProblem(Place(file, 1), "expected a model, found an empty file")
    return Entry(node, file)
