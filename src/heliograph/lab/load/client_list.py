"""Client lists in the JSON form of mqttbench: an array with one object per client.

Clients that differ in nothing but their names become one group. Publishers of a list have no rate of their own: as with
mqttbench, the rate is that of all of them together, and each group gets the share that its clients have.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from heliograph.lab.errors import InvalidLoad
from heliograph.lab.load.plan import Address, Group, Member, Payload, Protocol, Role, Transport, Will

_VERSIONS: dict[str, tuple[Transport, Protocol]] = {
    f"{transport}{number}": (kind, protocol)  # type: ignore[misc]
    for (transport, kind), (number, protocol) in product(
        (("TCP", "tcp"), ("WS", "ws")), ((3, "mqtt31"), (4, "mqtt311"), (5, "mqtt5"))
    )
}
_SECURE: dict[Transport, Transport] = {"tcp": "tls", "ws": "wss"}

# What this generator acts on, and what it may leave aside because nothing that it measures depends on it.
_KNOWN = frozenset(
    {"_id", "version", "dst", "dstPort", "useTLS", "username", "password", "cleanSession", "cleanStart"}
    | {"pingIntervalSecs", "lastWillMsg", "publishTopics", "subscriptions", "recvMaximum"}
)
_ASIDE = frozenset(
    {"maxPktSizeBytes", "topicAliasMaxIn", "topicAliasMaxOut", "requestResponseInfo", "requestProblemInfo"}
    | {"connectionTimeoutSecs", "pingTimeoutSecs", "lingerTimeSecs", "lingerMsgsCount", "reconnectDelayUSecs"}
    | {"sessionExpiryIntervalSecs", "userProperties"}
)
_COUNT = re.compile(r"\$\{COUNT:(\d+)-(\d+)\}")


@dataclass(frozen=True)
class ClientList:
    """What a list says: groups, and the addresses of their doors."""

    groups: tuple[Group, ...]
    addresses: dict[str, Address]


def read_client_list(file: Path, *, rate: float | None = None, payload: Payload | None = None) -> ClientList:
    """Read a list; `rate` is that of all publishers together, None for a closed loop."""
    try:
        entries = json.loads(file.read_text())
    except OSError as problem:
        raise InvalidLoad(f"client list {file}: {problem.strerror}") from None
    except ValueError as problem:
        raise InvalidLoad(f"client list {file} is not JSON: {problem}") from None
    if not isinstance(entries, list) or not entries:
        raise InvalidLoad(f"client list {file}: expected an array with one object per client")
    alike: dict[Group, list[Member]] = {}
    addresses: dict[str, Address] = {}
    for number, entry in enumerate(entries):
        where = f"client {number} of {file}"
        if not isinstance(entry, dict):
            raise InvalidLoad(f"{where}: expected an object")
        group, member, address = _read(entry, where)
        addresses[group.door] = address
        alike.setdefault(group, []).append(member)
    groups = [
        replace(
            group, name=f"list-{number}", clients=len(members), members=tuple(members), payload=payload or Payload()
        )
        for number, (group, members) in enumerate(alike.items())
    ]
    publishers = sum(group.clients for group in groups if group.sends)
    if rate is not None:
        groups = [replace(group, rate=rate * group.clients / publishers) if group.sends else group for group in groups]
    return ClientList(tuple(groups), addresses)


def _read(entry: Mapping[str, Any], where: str) -> tuple[Group, Member, Address]:
    """What the client has in common with others, what is its own, and where it connects."""
    for name in entry:
        if name not in _KNOWN | _ASIDE:
            raise InvalidLoad(f"{where}: {name!r} is not supported")
    if str(entry.get("version")) not in _VERSIONS:
        raise InvalidLoad(f"{where}: version is {entry.get('version')!r}; expected one of {', '.join(_VERSIONS)}")
    transport, protocol = _VERSIONS[entry["version"]]
    if entry.get("useTLS"):
        transport = _SECURE[transport]
    topics = tuple(_names(entry.get("publishTopics", ())))
    filters = tuple(_names(entry.get("subscriptions", ())))
    role: Role = "both" if topics and filters else "publish" if topics else "consume" if filters else "connect"
    address = Address(int(entry.get("dstPort", 1883)), str(entry.get("dst", "127.0.0.1")))
    clean = entry.get("cleanStart", entry.get("cleanSession", True))
    group = Group(
        name="",
        role=role,
        clients=0,
        protocol=protocol,
        transport=transport,
        door=f"{address.host}:{address.port}",
        topics=max(1, len(topics)),
        qos=_only(entry, "qos", 0, where),
        retain=bool(_only({"publishTopics": entry.get("publishTopics", ())}, "retain", False, where)),
        window=int(entry.get("recvMaximum", 65535)),
        durable=not clean,
        keep_alive=int(entry.get("pingIntervalSecs", 0)),
        will=_will(entry.get("lastWillMsg")),
    )
    password = _password(entry.get("password", ""), where)
    return group, Member(entry.get("_id", ""), topics, filters, entry.get("username", ""), password), address


def _names(topics: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """The names of topics; `${COUNT:5-9}` stands for each of these numbers."""
    for topic in topics:
        name = topic["topicStr"]
        found = _COUNT.search(name)
        if found is None:
            yield name
        else:
            for number in range(int(found[1]), int(found[2]) + 1):
                yield name[: found.start()] + str(number) + name[found.end() :]


def _only(entry: Mapping[str, Any], name: str, usual: Any, where: str) -> Any:
    """The one value that all topics of a client have."""
    topics = [*entry.get("publishTopics", ()), *entry.get("subscriptions", ())]
    values = {topic.get(name, usual) for topic in topics} or {usual}
    if len(values) > 1:
        raise InvalidLoad(f"{where}: its topics differ in {name!r}; make it two clients")
    return values.pop()


def _will(value: Mapping[str, Any] | None) -> Will | None:
    if not value:
        return None
    return Will(value["topicStr"], value.get("payload", ""), value.get("qos", 0), bool(value.get("retain", False)))


def _password(encoded: str, where: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidLoad(f"{where}: the password is not base64") from None
