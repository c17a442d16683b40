"""Open: whether a client is welcome, and what it is told if not."""

from typing import TYPE_CHECKING

from heliograph.amqp import conditions
from heliograph.amqp.performatives import Error, Open
from heliograph.amqp.values import Symbol, UShort
from heliograph.broker.links.host import SOLE_CONNECTION

if TYPE_CHECKING:
    from heliograph.broker.links.host import Host

ESTABLISHMENT_FAILED = "amqp:connection-establishment-failed"
"""In the properties of an open: a close follows, and the client need not begin anything."""
_RESERVED = "$"


def error_in_open(host: "Host", asked: Open) -> Error | None:
    """Why this client cannot be served, or should be elsewhere; None if it is welcome."""
    broker, limits = host.broker, host.broker.limits
    if asked.hostname is not None and asked.hostname in host.redirects:
        elsewhere = host.redirects[asked.hostname]
        if elsewhere is None:  # better nobody than somebody else
            text = f"the queue manager {asked.hostname} is not running"
            return Error(condition=conditions.CONNECTION_FORCED, description=text)
        text = f"{asked.hostname} is at {elsewhere.host}:{elsewhere.port}"
        info = {
            Symbol("hostname"): asked.hostname,
            Symbol("network-host"): elsewhere.host,
            Symbol("port"): UShort(elsewhere.port),
            Symbol("scheme"): elsewhere.scheme,
        }
        return Error(condition=conditions.CONNECTION_REDIRECT, description=text, info=info)
    if not asked.container_id or asked.container_id.startswith(_RESERVED):
        return _bad_container(f'expected a container-id that does not begin with "$", found {asked.container_id!r}')
    if SOLE_CONNECTION in asked.desired_capabilities and asked.container_id in host.containers:
        return _bad_container(f"another connection uses the container-id {asked.container_id}")
    if broker.stats.connected >= limits.connections:
        return _too_much(f"{limits.connections} clients are connected, no more are taken")
    if not broker.pace.allows(limits.connects_per_second, broker.now()):
        return _too_much(f"more than {limits.connects_per_second} connects a second")
    return None


def _bad_container(text: str) -> Error:
    info = {Symbol("invalid-field"): Symbol("container-id")}
    return Error(condition=conditions.INVALID_FIELD, description=text, info=info)


def _too_much(text: str) -> Error:
    return Error(condition=conditions.RESOURCE_LIMIT_EXCEEDED, description=text)
