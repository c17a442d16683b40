"""All models of a flow, by name, and the codecs that they are compiled to."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from heliograph.flow.errors import MessageError, ModelProblem
from heliograph.flow.formats.model.logical import Message, Model, PhysicalFormat
from heliograph.flow.formats.model.model_kinds import kind_named, not_too_deep
from heliograph.flow.formats.model.model_loading import load_models
from heliograph.flow.formats.model.source import Codec, compiled
from heliograph.flow.tree import Part, Text

Named = TypeVar("Named")

SUFFIXES = (".model.yaml", ".cpy", ".mt", ".xsd")


class Models:
    """The models of a folder. Pickled as the texts of their files, and compiled again where they are unpickled."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = dict(sources)
        self.models: Mapping[str, Model] = load_models(self.sources)
        self._codecs: dict[Text, Codec] = {}
        self._formats: dict[Text, ModelFormat] = {}

    @classmethod
    def load(cls, folder: Path) -> "Models":
        """All model files in a folder: `NAME.model.yaml`, `NAME.cpy`, `NAME.mt`, `NAME.xsd`. No folder is no models."""
        paths = sorted(path for path in folder.glob("*") if path.name.endswith(SUFFIXES)) if folder.is_dir() else []
        return cls({path.name: path.read_text("utf-8") for path in paths})

    def __reduce__(self) -> tuple[type["Models"], tuple[dict[str, str]]]:
        return Models, (self.sources,)

    def format(self, text: Text) -> "ModelFormat":
        """The format that Properties (MessageSet, MessageType, MessageFormat) name, for domain MRM."""
        found = self._formats.get(text)
        if found is None:
            found = self._formats[text] = ModelFormat(self, text)
        return found

    def codec(self, text: Text) -> Codec:
        """The compiled reader and writer for what the text names; compiled once for each character set and encoding."""
        codec = self._codecs.get(text)
        if codec is None:
            codec = self._codecs[text] = self._compile(text)
        return codec

    def find(self, text: Text) -> tuple[Message, PhysicalFormat]:
        """The message and the physical format that the text names; what is the only one need not be named."""
        model = _named(self.models, text.message_set, "model", "the models folder")
        if text.message_type in model.refused:
            raise model.refused[text.message_type]
        message = _named(model.messages, text.message_type, "message", f"model {model.name}")
        form = _named(model.formats, text.message_format, "physical format", f"model {model.name}")
        return message, form

    def _compile(self, text: Text) -> Codec:
        message, form = self.find(text)
        text = replace(text, message_set="", message_type="", message_format="")
        place = message.content.place
        try:
            with not_too_deep(place):
                return compiled(kind_named(form.kind, form.place).generate(message, form, text))
        except (SyntaxError, MemoryError):  # so says Python of code that is nested too deeply for it
            raise ModelProblem(place, f"{message.name}: groups are inside each other too deeply") from None


class ModelFormat:
    """The format of a part in domain MRM."""

    domain = "MRM"

    def __init__(self, models: Models, text: Text) -> None:
        self.models = models
        self.text = text
        self._codec = models.codec(text)

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """See Format."""
        return self._codec.read(part, data)

    def write(self, part: Part) -> bytes:
        """The bytes of the elements under the part, in the character set and encoding that the part has now."""
        if part.text != self.text:
            return self.models.codec(part.text).write(part)
        return self._codec.write(part)

    def __reduce__(self) -> "tuple[type[ModelFormat], tuple[Models, Text]]":
        return ModelFormat, (self.models, self.text)


def _named(known: Mapping[str, Named], name: str, what: str, where: str) -> Named:
    if name in known:
        return known[name]
    if not name and len(known) == 1:
        return next(iter(known.values()))
    listed = ", ".join(sorted(known)) or "none"
    if not name:
        raise MessageError(f"Properties do not name a {what}; {where} has {listed}")
    raise MessageError(f"{where} has no {what} {name}; it has {listed}")
