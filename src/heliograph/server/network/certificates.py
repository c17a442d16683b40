"""TLS for a listener: its context, renewing the certificate in a living one, and the name in a client's certificate."""

import ssl
from collections.abc import Mapping
from typing import Any

from heliograph.common.network_errors import certificate_file_error
from heliograph.server.config.schema import ClientCertificates, ListenerConfig, ListenerKind, TlsVersion
from heliograph.server.errors import CertificateError

_VERSION = {TlsVersion.V1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.V1_3: ssl.TLSVersion.TLSv1_3}
_VERIFY = {
    ClientCertificates.NONE: ssl.CERT_NONE,
    ClientCertificates.OPTIONAL: ssl.CERT_OPTIONAL,
    ClientCertificates.REQUIRED: ssl.CERT_REQUIRED,
}
# A client that offers none of these names is served all the same.
_ALPN = {ListenerKind.TLS: ["mqtt"], ListenerKind.WSS: ["http/1.1"]}


def tls_context(listener: ListenerConfig) -> ssl.SSLContext:
    """The context for a tls or wss listener; CertificateError names the file that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION  # nobody needs it, and each one costs the server a handshake
    context.set_alpn_protocols(_ALPN[listener.kind])
    _apply(context, listener)
    return context


def reload(context: ssl.SSLContext, listener: ListenerConfig) -> None:
    """Make a living context use the listener's files as they are now: new handshakes do, connections live on.

    After a CertificateError the context is what it was. Authorities that left `client_ca` stay trusted until a restart:
    a context can learn of new ones, but not forget.
    """
    tls_context(listener)  # a scratch one, to find what is broken before the living one is touched
    _apply(context, listener)


def _apply(context: ssl.SSLContext, listener: ListenerConfig) -> None:
    _load_certificate(context, listener)
    if listener.client_ca:
        _load_authorities(context, listener)
    context.minimum_version = _VERSION[listener.tls_min]
    context.verify_mode = _VERIFY[listener.client_certificates]


def _load_certificate(context: ssl.SSLContext, listener: ListenerConfig) -> None:
    def no_passphrase() -> str:
        raise CertificateError(
            f"{listener.key}: expected a private key without a passphrase, which a server cannot ask for"
        )

    assert listener.cert
    try:
        context.load_cert_chain(listener.cert, listener.key, no_passphrase)
    except OSError as error:  # ssl.SSLError is one
        raise CertificateError(
            f"{listener.name}: expected a certificate in {listener.cert} and its private key in {listener.key}, "
            f"both in PEM form: {certificate_file_error(error)}"
        ) from None


def _load_authorities(context: ssl.SSLContext, listener: ListenerConfig) -> None:
    try:
        context.load_verify_locations(listener.client_ca)
    except OSError as error:
        raise CertificateError(
            f"{listener.name}: expected certificates of authorities in {listener.client_ca}, in PEM form: "
            f"{certificate_file_error(error)}"
        ) from None


def common_name(peer_certificate: Mapping[str, Any] | None) -> str | None:
    """The common name in what `getpeercert()` gave; None without a verified certificate or without such a name."""
    for parts in (peer_certificate or {}).get("subject", ()):
        for key, value in parts:
            if key == "commonName":
                return str(value)
    return None
