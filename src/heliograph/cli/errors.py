"""What commands raise when they cannot do what they were asked; `helio` prints it and exits with status 1."""

from heliograph.errors import InvalidInput, Problem, Unreachable


class CliError(Problem):
    """The root: a command cannot do what it was asked for."""


class CommandFailed(CliError):
    """Another system was asked to do something, and refused or failed."""


class ConnectionFailed(CliError, Unreachable):
    """There is no connection to an MQTT server, or it was lost; another attempt may succeed."""


class MqscSyntaxError(CliError, InvalidInput):
    """An MQSC command that cannot be understood: its line and column, both from 1, and what was expected."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(f"{line}:{column}: {text}")
        self.line, self.column, self.text = line, column, text


class UnknownPipeline(CliError, InvalidInput):
    """There is no pipeline of this name."""
