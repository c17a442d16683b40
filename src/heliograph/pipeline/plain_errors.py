"""Errors of ours as Spark shows them: one sentence, in place of two stacks of Spark's and ours around it.

Spark's worker processes put the whole Python stack into what they tell the driver, unless `SPARK_HIDE_TRACEBACK` is in
the environment. It is looked at when an error is told, and the worker ends after that. So it is set at that moment and
in that process only: errors of other people's code, and defects of ours, keep their stacks.
"""

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from heliograph.errors import Problem

_Class = TypeVar("_Class", bound=type)


def plain_errors(cls: _Class) -> _Class:
    """For classes whose methods Spark calls: a Problem in one of them comes to the user without stacks."""
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
