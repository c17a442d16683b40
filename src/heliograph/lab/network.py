"""Where brokers under test are, and what is raised when one of them has gone."""

HOST = "127.0.0.1"


class BrokerGone(Exception):
    """The broker closed a connection, refused it or did not answer in time."""
