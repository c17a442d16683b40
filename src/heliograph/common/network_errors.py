"""Texts for network errors: a sentence instead of the numbers and abbreviations of the operating system and TLS."""

import errno
import os
import re
import socket
import ssl
from urllib.error import URLError

_TLS = {
    "WRONG_VERSION_NUMBER": "the other side does not speak TLS on this port",
    "HTTP_REQUEST": "the other side speaks HTTP without TLS",
    "HTTPS_PROXY_REQUEST": "the other side speaks HTTP without TLS",
    "UNEXPECTED_EOF_WHILE_READING": "the other side ended the TLS handshake; it may not speak TLS on this port, "
    "or not accept our certificate",
    "UNSUPPORTED_PROTOCOL": "both sides know no common version of TLS",
    "TLSV1_ALERT_PROTOCOL_VERSION": "both sides know no common version of TLS",
    "NO_SHARED_CIPHER": "both sides know no common cipher",
    "TLSV1_ALERT_UNKNOWN_CA": "the other side does not know the authority that issued our certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "our certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "our certificate has been revoked",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the other side does not accept our certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the other side does not accept our certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the other side ended the TLS handshake; it may want a certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the other side wants a certificate, and was shown none",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the other side showed no certificate, and one is required",
}
_SYSTEM = {
    errno.ECONNREFUSED: "connection refused: nothing listens on {where}",
    errno.ENOENT: "there is no {where}",
    errno.ETIMEDOUT: "{where} did not answer in time",
    errno.EHOSTUNREACH: "there is no way to {where}",
    errno.ENETUNREACH: "there is no way to {where}",
    errno.ECONNRESET: "the other side cut the connection",
    errno.EPIPE: "the other side has closed the connection",
    errno.ECONNABORTED: "the connection was cut",
    errno.EADDRINUSE: "{where} is in use by another program or server",
    errno.EADDRNOTAVAIL: "this machine does not have the address {where}",
    errno.EACCES: "not allowed to use {where}",
    errno.EPERM: "not allowed to use {where}",
}

_NUMBER = re.compile(r"\[Errno (\d+)\]")


def network_error_text(error: Exception, where: str) -> str:
    """Why a connection to `where` (or a socket there) failed; without a full stop, to stand behind a colon."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return _tls_sentence(error)
    if isinstance(error, socket.gaierror):
        return f"there is no host of the name in {where}, or names cannot be looked up now"
    if isinstance(error, TimeoutError):
        return _SYSTEM[errno.ETIMEDOUT].format(where=where)
    number = _number_of(error)
    if number in _SYSTEM:
        return _SYSTEM[number].format(where=where)
    return os.strerror(number).lower() if number else str(error) or type(error).__name__


def certificate_file_error(error: OSError) -> str:
    """Why a file with a certificate or a key cannot be used."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not PEM").lower().replace("_", " ")
    return error.strerror or str(error)


def _tls_sentence(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return _TLS["UNEXPECTED_EOF_WHILE_READING"]
    reason = error.reason or ""
    return _TLS.get(reason) or reason.lower().replace("_", " ") or "the TLS handshake failed"


def _number_of(error: Exception) -> int | None:
    if isinstance(error, OSError) and error.errno:
        return error.errno
    # Where a name has several addresses, asyncio puts the errors of all of them into one text.
    numbers = _NUMBER.findall(str(error))
    return int(numbers[-1]) if numbers else None
