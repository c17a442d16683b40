"""A certificate for 127.0.0.1, made on the spot for the cases with TLS."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from heliograph.lab.errors import TargetNotInstalled


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate and its key, as PEM files."""

    cert: Path
    key: Path


def make_certificate(directory: Path) -> Certificate:
    """Make one in this directory."""
    if shutil.which("openssl") is None:
        raise TargetNotInstalled(
            "the cases with TLS need the openssl command; install openssl, or choose others with --case"
        )
    made = Certificate(directory / "cert.pem", directory / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "keyUsage=digitalSignature,keyCertSign", "-out", str(made.cert), "-keyout", str(made.key)]
    subprocess.run(command, check=True, capture_output=True)
    return made
