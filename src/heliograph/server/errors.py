"""What the server raises. Texts say what was expected, what was found, and where, and name the key to change."""

from heliograph.errors import HeliographError, InvalidInput, Problem, StorageError


class ServerError(Problem):
    """The root: the server cannot start, reload or do what an operator asked for."""


class ConfigurationError(ServerError, InvalidInput):
    """Mistakes in the configuration, one per line, each with its key."""


class CertificateError(ServerError, InvalidInput):
    """A certificate, private key or authority of a listener cannot be used."""


class PasswordFileError(ServerError, InvalidInput):
    """A password file, or a line or user of one, is not what was expected."""


class PasswordFileUnusable(PasswordFileError, StorageError):
    """A password file cannot be read or written."""


class CannotListen(ServerError):
    """The address of a listener or of the pages is in use or cannot be had."""


class Unavailable(HeliographError):
    """A page cannot be made now; the text says why, and clients get status 503."""
