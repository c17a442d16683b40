"""All exceptions of the lab that cross the border of a module."""

from heliograph.errors import InvalidInput, NotInstalled, Problem, Unreachable


class LabError(Problem):
    """A measurement cannot be made or continued. The root of all exceptions of the lab."""


class BrokerGone(LabError, Unreachable):
    """The broker closed a connection, refused it or did not answer in time. A trial counts this as a failed run."""


class ClientFailed(BrokerGone):
    """One client of a load cannot continue. Its process counts an error and closes the connection."""


class InvalidLoad(LabError, InvalidInput):
    """A plan, a client list or a payload says something that the load generator cannot do."""


class GeneratorFailed(LabError):
    """The load generator itself failed: a process died, did not answer, or reached a limit of the system."""


class InvalidScenario(LabError, InvalidInput):
    """A scenario file, its parameters or the name of a scenario is wrong."""


class InvalidTarget(LabError, InvalidInput):
    """A system under test is unknown, or its options are wrong."""


class TargetNotInstalled(LabError, NotInstalled):
    """A program that a measurement needs is not installed: a system under test, PostgreSQL, openssl."""


class UnknownCase(LabError, InvalidInput):
    """No case of a benchmark has this name, or fits this pattern."""


class MeasurementFailed(LabError):
    """What is measured ended, did not answer, or gave wrong results, so that there is no figure."""


class InvalidResults(LabError, InvalidInput):
    """Results of earlier runs, or a log of the power that they took, are missing or damaged."""
