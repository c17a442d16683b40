"""What is wrong with a model."""

from heliograph.errors import Problem
from heliograph.flow.formats.model.logical import Place


class ModelProblem(Problem):
    """A model file that cannot be used: says where, what was expected and what is there."""

    def __init__(self, place: Place | str, text: str) -> None:
        super().__init__(f"{place}: {text}")
        self.place = place
        self.text = text

    def __reduce__(self) -> tuple[type["ModelProblem"], tuple[Place | str, str]]:
        return ModelProblem, (self.place, self.text)
