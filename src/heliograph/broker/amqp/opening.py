"""Open: whether a client is welcome, and what it is told if not."""

from heliograph.amqp import Attach, Begin, Error, Open, Symbol, UShort, conditions
from heliograph.broker.amqp.host import SOLE_CONNECTION, Host

ESTABLISHMENT_FAILED = "amqp:connection-establishment-failed"
"""In the properties of an open: a close follows, and the client need not begin anything."""
_RESERVED = "$"
_LONGEST_NAME = 200  # of a queue manager; a client may send any text
# Bytes of memory that a connection, a session or a link takes, and so many times the bytes of the frame that began it:
# small values take many times their size.
_COST = 4_000
_FRAME_COST = 16


def error_in_open(host: Host, asked: Open) -> Error | None:
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
    if asked.hostname and not _is_served(host, asked.hostname):
        return _unknown_name(host, asked.hostname)
    if not asked.container_id or asked.container_id.startswith(_RESERVED):
        return _bad_container(f'expected a container-id that does not begin with "$", found {asked.container_id!r}')
    if SOLE_CONNECTION in asked.desired_capabilities and asked.container_id in host.containers:
        return _bad_container(f"another connection uses the container-id {asked.container_id}")
    if broker.stats.connected >= limits.connections:
        return _too_much(f"{limits.connections} clients are connected, no more are taken")
    if not broker.memory.takes_newcomers(cost_of(asked)):
        return _too_much("there is no memory for another client at present")
    if not broker.pace.allows(limits.connects_per_second, broker.now()):
        return _too_much(f"more than {limits.connects_per_second} connects a second")
    return None


def _is_served(host: Host, name: str) -> bool:
    """Whether this server answers to a name. Without queue managers nobody is served by the wrong one."""
    return not host.redirects or name == host.name or host.may_be_us(name)


def cost_of(began: Open | Begin | Attach) -> int:
    """Bytes of memory that a connection, a session or a link takes which has begun with this frame."""
    return _COST + _FRAME_COST * len(began.encoded())


def _unknown_name(host: Host, name: str) -> Error:
    known = ", ".join([host.name, *host.redirects])
    text = f"there is no queue manager {name[:_LONGEST_NAME]}, only {known}"
    text += " (if that is a name of this machine, list it in hosts of [http])"
    return Error(condition=conditions.NOT_FOUND, description=text)


def _bad_container(text: str) -> Error:
    info = {Symbol("invalid-field"): Symbol("container-id")}
    return Error(condition=conditions.INVALID_FIELD, description=text, info=info)


def _too_much(text: str) -> Error:
    return Error(condition=conditions.RESOURCE_LIMIT_EXCEEDED, description=text)
