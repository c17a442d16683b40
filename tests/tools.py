"""Programs that tests need beside Python."""

import os
import shutil
from typing import NoReturn

import pytest


def missing(what: str, remedy: str) -> NoReturn:
    """Skip the test, saying what would help; where CI is set everything should be there, and the test fails."""
    message = f"{what} is not installed: {remedy}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def program(name: str, remedy: str) -> str:
    """The path of a program."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return found or missing(name, remedy)
