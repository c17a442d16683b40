"""What is wrong with a flow: everything is collected, and reported together."""

from collections.abc import Iterable
from dataclasses import dataclass

from heliograph.common.documents import Place
from heliograph.common.suggestions import closest
from heliograph.errors import Problem


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong, and where."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class DefinitionProblem(Problem):
    """A flow that cannot run."""

    def __init__(self, mistakes: Iterable[Mistake], warnings: Iterable[Mistake] = ()) -> None:
        self.mistakes = tuple(mistakes)
        self.warnings = tuple(warnings)
        """What would not keep it from running."""
        super().__init__("\n".join(map(str, self.mistakes)))

    def __reduce__(self) -> tuple[type["DefinitionProblem"], tuple[tuple[Mistake, ...], tuple[Mistake, ...]]]:
        return DefinitionProblem, (self.mistakes, self.warnings)


class Findings:
    """Mistakes and warnings, as they are found."""

    def __init__(self) -> None:
        self._mistakes: dict[Mistake, None] = {}
        self._warnings: dict[Mistake, None] = {}

    def mistake(self, place: Place, text: str) -> None:
        """The flow cannot run like this. What is found twice (a subflow that is used twice) is told once."""
        self._mistakes[Mistake(place, text)] = None

    def warning(self, place: Place, text: str) -> None:
        """It can run, but perhaps it is not what was meant."""
        self._warnings[Mistake(place, text)] = None

    def warnings(self) -> tuple[Mistake, ...]:
        """In the order of files and lines."""
        return tuple(_in_order(self._warnings))

    def count(self) -> int:
        """How many mistakes there are."""
        return len(self._mistakes)

    def add(self, other: "Findings") -> None:
        """Take over what somebody else has found."""
        self._mistakes.update(other._mistakes)
        self._warnings.update(other._warnings)

    def raise_mistakes(self) -> None:
        """A `DefinitionProblem`, if there are any."""
        if self._mistakes:
            raise DefinitionProblem(_in_order(self._mistakes), self.warnings())


def _in_order(mistakes: Iterable[Mistake]) -> list[Mistake]:
    return sorted(mistakes, key=lambda mistake: (mistake.place.file, mistake.place.line, mistake.place.column))


def known(names: Iterable[str]) -> str:
    """The names that would have been right, for the end of a sentence."""
    return ", ".join(sorted(names)) or "none"


def suggestion(word: str, names: Iterable[str]) -> str:
    """` (did you mean x?)`, if one of the names is close to the word; otherwise nothing."""
    close = closest(word, names)
    return f" (did you mean {close}?)" if close else ""
