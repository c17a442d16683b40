"""Exceptions of pipelines. The root is `PipelineError`; Spark shows all of them as one sentence (`spark_errors`)."""

from heliograph.errors import InvalidInput, Problem, StorageError, Unreachable


class PipelineError(Problem):
    """Something about a pipeline that a person can mend."""


class InvalidOption(PipelineError, InvalidInput):
    """An option, a route, a column or a schema is not what a source, a sink or a pipeline takes."""


class InvalidRow(PipelineError, InvalidInput):
    """A row cannot become a message, or a payload cannot become columns."""


class NotDeployable(PipelineError, InvalidInput):
    """A flow cannot run on Spark, or needs something that was not given."""


class JobError(PipelineError, InvalidInput):
    """The Python file of a job is missing, is not what it should be, or its `build` raised an exception."""


class CheckpointMismatch(PipelineError):
    """A checkpoint belongs to another stream, or the server has more of a query than its checkpoint knows."""


class DataLoss(PipelineError):
    """Messages were deleted before they were read."""


class PublishingFailed(PipelineError):
    """A task could not publish its rows. What was not committed is undone, and Spark tries the task again."""


class ServerGone(PipelineError, Unreachable):
    """The server that a task reads from or writes to did not come back in time."""


class DatabaseFailed(PipelineError):
    """A database refused what a flow or an output to a table wanted, or could not be reached in time."""


class SpoolDamaged(PipelineError, StorageError):
    """A file of a spool cannot be read as what it should be."""


class SpoolInUse(PipelineError):
    """Another process uses the spool."""


class BrokerLost(PipelineError, Unreachable):
    """The connection to an MQTT broker was lost, or could not be made."""


class UnsupportedVersion(PipelineError):
    """The broker does not speak this version of MQTT."""
