"""What is wrong with a model."""

from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.common.documents import Place
from heliograph.errors import Problem

MOST_MEMBERS = 100_000


class ModelProblem(Problem):
    """A model file that cannot be used: says where, what was expected and what is there."""

    def __init__(self, place: Place | str, text: str) -> None:
        super().__init__(f"{place}: {text}")
        self.place = place
        self.text = text

    def __reduce__(self) -> tuple[type["ModelProblem"], tuple[Place | str, str]]:
        return ModelProblem, (self.place, self.text)


@contextmanager
def not_too_deep(place: Place) -> Iterator[None]:
    """What is deeper than Python can follow is a problem of the model."""
    try:
        yield
    except RecursionError:
        raise ModelProblem(place, "groups or files are inside each other too deeply") from None


class Members:
    """Counts the members of a model: types that are used inside each other multiply."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, place: Place, name: str, count: int = 1) -> None:
        """So many more; a ModelProblem if that is too many."""
        self.count += count
        if self.count > MOST_MEMBERS:
            raise ModelProblem(place, f"{name}: the model has more than {MOST_MEMBERS} fields and groups")
