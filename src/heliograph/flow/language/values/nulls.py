"""NULL in, NULL out: what nearly every function of ESQL does."""

from collections.abc import Callable
from functools import wraps
from typing import Any


def propagates_null(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, but NULL if an argument is. Arguments that are left out keep their defaults."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return None if None in arguments else function(*arguments)

    return call
