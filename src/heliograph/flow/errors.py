"""What goes wrong while ESQL is evaluated, numbered as in the broker's message catalogue."""

from collections.abc import Sequence
from typing import Any, ClassVar

from heliograph.errors import Problem

INCOMPATIBLE_TYPES = 2420
DIVIDE_BY_ZERO = 2450
OVERFLOW = 2451
BAD_ARGUMENT = 2459
CAST_FAILED = 2521
NOT_AN_INTEGER = 2595
NOT_A_FLOAT = 2596
NOT_A_DECIMAL = 2597
USER_EXCEPTION = 2951


class EsqlError(Problem):
    """An error of a running ESQL program.

    `number` and `inserts` (values of ESQL types) are what an exception list shows of it, in a folder named `folder`.
    """

    folder: ClassVar[str] = "RecoverableException"

    def __init__(self, number: int, text: str, inserts: Sequence[Any] = ()) -> None:
        super().__init__(text)
        self.number = number
        self.text = text
        self.inserts = tuple(inserts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.number, self.text, self.inserts), self.__dict__


class ExpressionError(EsqlError):
    """Operands or arguments that an operator or function cannot work with."""


class ConversionError(EsqlError):
    """A value that cannot become a value of another type."""

    folder = "ConversionException"


class UserError(EsqlError):
    """What THROW raises."""

    folder = "UserException"
