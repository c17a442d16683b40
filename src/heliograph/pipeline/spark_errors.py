"""Errors as Spark shows them, and how to report them to users as one sentence.

Spark's worker processes put the whole Python stack into what they send to the driver, unless `SPARK_HIDE_TRACEBACK` is
in the environment. Spark reads it when an error is sent, and the worker ends after that. So `plain_errors` sets it at
that moment and in that process only: errors of other people's code, and defects of ours, keep their stacks.
`spark_error_text` takes the sentence that matters out of what arrives at the driver.
"""

import functools
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from heliograph.errors import Problem

_OURS = re.compile(r"heliograph\.[\w.]+: (.*(?:\n(?!\s|Traceback|Caused by|\tat ).+)*)")
_SPARK = re.compile(r"^\[[A-Z_.0-9]+\] .*", re.MULTILINE)
_STACK = "Traceback (most recent call last):"
_PYTHONS = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b.*", re.MULTILINE)
_LONGEST = 2000


def spark_error_text(error: BaseException | str) -> str:
    """The message of an error: our own sentence if Spark's text has one, else its first meaningful line.

    An error inside of a worker comes as a Java stack with a Python stack in it; the last of ours in it is the cause.
    """
    text = str(error).strip()
    if ours := _OURS.findall(text):
        return str(ours[-1]).strip()[:_LONGEST]
    if found := _SPARK.search(text):
        line = found[0]
        # The first one is the cause: what follows happened while it was handled.
        if line.endswith(_STACK) and (cause := _PYTHONS.search(text, found.end())):
            line = line.removesuffix(_STACK) + cause[0]
        return line[:_LONGEST]
    first = text.partition("\n")[0]
    if isinstance(error, str):
        return first[:_LONGEST]
    return (f"{type(error).__name__}: {first}" if first else type(error).__name__)[:_LONGEST]


def is_spark_error(error: BaseException) -> bool:
    """Whether the error comes from Spark or the connection to it, so that our own stack would be of no use."""
    return type(error).__module__.startswith(("pyspark.", "py4j."))


_Class = TypeVar("_Class", bound=type)


def plain_errors(cls: _Class) -> _Class:
    """Decorate a class whose methods Spark calls: users see a Problem from one of them without stacks."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and callable(method):
            setattr(cls, name, _told_plainly(method))
    return cls


def _told_plainly(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = method(*args, **kwargs)
        except Problem:
            _hide_stacks()
            raise
        return _iterated_plainly(result) if isinstance(result, Iterator) else result

    return call


def _iterated_plainly(items: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from items
    except Problem:
        _hide_stacks()
        raise


def _hide_stacks() -> None:
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"
