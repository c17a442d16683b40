"""Configuration files that are written and then loaded, with what is said about their mistakes."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.server.config.loading import Config, load_config


def loaded(file: Path, text: str) -> Config:
    """The configuration that this text is."""
    file.write_text(text)
    return load_config(file)


def mistakes(file: Path, text: str) -> list[str]:
    """What `load_config` says about this text, without the name of the file that starts each line."""
    with pytest.raises(Problem) as caught:
        loaded(file, text)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}:") for line in lines)
    return [line.removeprefix(f"{file}:").strip() for line in lines]
