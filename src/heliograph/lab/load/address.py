"""Where a target listens, in a form that goes to other processes."""

import ssl
from dataclasses import dataclass


@dataclass(frozen=True)
class Address:
    """One door of a target."""

    port: int
    host: str = "127.0.0.1"
    ca_file: str | None = None  # PEM file with what to trust; None: what the system trusts
    verify: bool = True  # whether the certificate has to be trusted, and be the host's
    path: str = "/mqtt"  # of WebSocket
    manager: str = ""  # the queue manager behind it: nothing that goes to one is seen by clients of another
    # For AMQP: which host the client asks for, and how the broker writes the address of a queue and of a topic.
    hostname: str = ""
    queue_prefix: str = "queue://"
    topic_prefix: str = "topic://"

    def tls_context(self) -> ssl.SSLContext:
        """What a client needs for TLS with this target."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
