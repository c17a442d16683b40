"""The options that `helio pub` and `helio sub` share, under the names that mosquitto's tools gave them."""

import argparse
import os
import secrets
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_type_hints
from urllib.parse import unquote, urlsplit

from heliograph.cli.mqtt.client import Client, SavedSession
from heliograph.cli.mqtt.connection import Address
from heliograph.common.network_errors import certificate_file_error
from heliograph.errors import InvalidInput, Problem, StorageError
from heliograph.mqtt import (
    Connect,
    Disconnect,
    PacketType,
    Properties,
    ProtocolError,
    Will,
    check_topic_filter,
    check_topic_name,
    decode_properties,
    encode_properties,
)

_VERSIONS = {"mqttv31": 3, "31": 3, "mqttv311": 4, "311": 4, "mqttv5": 5, "5": 5}
_FOREVER = 0xFFFFFFFF
_PORT = 1883
_TLS_PORT = 8883
_PACKETS = {
    "connect": PacketType.CONNECT,
    "publish": PacketType.PUBLISH,
    "subscribe": PacketType.SUBSCRIBE,
    "unsubscribe": PacketType.UNSUBSCRIBE,
    "disconnect": PacketType.DISCONNECT,
    "will": "will",
}
_TYPES = get_type_hints(Properties)


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to connect, as whom, and how."""
    server = parser.add_argument_group("server")
    server.add_argument("-h", "--host", help="name or address of the server (default: localhost)")
    server.add_argument("-p", "--port", type=int, help=f"its port (default: {_PORT}, with TLS {_TLS_PORT})")
    server.add_argument("--unix", metavar="PATH", help="connect to a Unix socket instead")
    server.add_argument("-L", "--url", help="all in one: mqtt(s)://[user[:password]@]host[:port]/topic")
    parser.set_defaults(tls=False)  # mqtts:// in -L makes it true
    server.add_argument("--cafile", help="use TLS, and trust the certificates in this file")
    server.add_argument("--cert", help="this client's certificate, for TLS")
    server.add_argument("--key", help="the key of that certificate")
    server.add_argument("--insecure", action="store_true", help="do not check that the certificate is for this host")

    client = parser.add_argument_group("connection")
    client.add_argument("-u", "--username", metavar="NAME", help="user name")
    client.add_argument("-P", "--pw", metavar="PASSWORD", help="password")
    client.add_argument("-i", "--id", help="client identifier (default: a random one)")
    client.add_argument("-I", "--id-prefix", metavar="PREFIX", help="client identifier: this and the process id")
    client.add_argument(
        "-k", "--keepalive", type=int, default=60, metavar="SECONDS", help="keep alive interval (default: 60)"
    )
    client.add_argument(
        "-c",
        "--disable-clean-session",
        action="store_true",
        help="continue the session of this client, and let the server keep it; needs -i",
    )
    client.add_argument(
        "-x", "--session-expiry", type=int, metavar="SECONDS", help="MQTT 5: how long the server keeps the session"
    )
    client.add_argument(
        "-V",
        "--protocol-version",
        choices=_VERSIONS,
        default="mqttv311",
        metavar="VERSION",
        help=f"version of MQTT: {', '.join(_VERSIONS)} (default: mqttv311)",
    )
    client.add_argument(
        "-D",
        "--property",
        action="append",
        nargs="+",
        default=[],
        metavar=("PACKET", "PROPERTY VALUE"),
        help="MQTT 5 property of a packet, as in: -D publish user-property NAME VALUE",
    )
    client.add_argument(
        "--will-topic", metavar="TOPIC", help="topic of the will, which the server publishes if this client is lost"
    )
    client.add_argument("--will-payload", metavar="TEXT", help="payload of the will")
    client.add_argument("--will-qos", type=int, choices=(0, 1, 2), help="QoS of the will")
    client.add_argument("--will-retain", action="store_true", help="retain the will")

    parser.add_argument("-q", "--qos", type=int, choices=(0, 1, 2), default=0, help="quality of service (default: 0)")
    parser.add_argument("-d", "--debug", action="store_true", help="show packets on standard error")
    parser.add_argument("--quiet", action="store_true", help="show no errors")


class PropertyOptions:
    """All -D options of one command, by packet. Problem when one of them makes no sense."""

    def __init__(self, options: Sequence[Sequence[str]], version: int) -> None:
        self.version = version
        self._by_packet: dict[str, dict[str, Any]] = {packet: {} for packet in _PACKETS}
        if options and version < 5:
            raise InvalidInput("-D needs MQTT 5 (-V mqttv5)")
        for words in options:
            self._add(words)
        for packet in _PACKETS:
            self._check(packet)

    def of(self, packet: str) -> Properties:
        """The properties for this packet ("connect", "publish", ...)."""
        return cast("Properties", dict(self._by_packet[packet]))

    def _add(self, words: Sequence[str]) -> None:
        packet, name = words[0], words[1].replace("-", "_") if len(words) > 1 else ""
        expected = 4 if name == "user_property" else 3
        if packet not in _PACKETS or name not in _TYPES or len(words) != expected:
            form = "PACKET PROPERTY VALUE, or PACKET user-property NAME VALUE"
            raise InvalidInput(f"-D {' '.join(words)}: expected {form}; PACKET is one of {', '.join(_PACKETS)}")
        properties = self._by_packet[packet]
        if name == "user_property":
            properties.setdefault(name, []).append((words[2], words[3]))
        elif name == "subscription_identifier":
            properties.setdefault(name, []).append(_number(words))
        elif _TYPES[name] is int:
            properties[name] = _number(words)
        else:
            properties[name] = words[2] if _TYPES[name] is str else os.fsencode(words[2])

    def _check(self, packet: str) -> None:
        properties = self.of(packet)
        try:
            data = encode_properties(properties)
            decode_properties(data, 0, len(data), cast("PacketType", _PACKETS[packet]))
        except (ProtocolError, ValueError, OverflowError) as error:
            names = ", ".join(properties).replace("_", "-")
            raise InvalidInput(f"-D {packet} ({names}): {error}") from None


def _number(words: Sequence[str]) -> int:
    try:
        number = int(words[2])
    except ValueError:
        raise InvalidInput(f"-D {' '.join(words)}: expected a number, not {words[2]!r}") from None
    if not 0 <= number <= 0xFFFFFFFF:
        raise InvalidInput(f"-D {' '.join(words)}: expected a number from 0 to {0xFFFFFFFF}")
    return number


@dataclass(frozen=True, slots=True)
class Session:
    """The shared options, parsed: where and how to connect."""

    address: Address
    connect: Connect
    properties: PropertyOptions
    url_topic: str | None
    trace: Callable[[str], None] | None
    warn: Callable[[str], None]

    def open(self, saved: SavedSession | None = None) -> Client:
        """Connect to the server; `saved` is the state of a connection before this one."""
        goodbye = Disconnect(properties=self.properties.of("disconnect"))
        return Client(self.address, self.connect, goodbye=goodbye, trace=self.trace, warn=self.warn, saved=saved)


def session(args: argparse.Namespace, program: str) -> Session:
    """Make sense of the shared options, or raise Problem; `program` stands before what is shown on standard error."""
    url_topic = _apply_url(args) if args.url else None
    properties = PropertyOptions(args.property, _VERSIONS[args.protocol_version])

    def show(text: str) -> None:
        print(f"{program}: {text}", file=sys.stderr)

    return Session(
        _address(args),
        _connect(args, properties),
        properties,
        url_topic,
        show if args.debug else None,
        _silent if args.quiet else show,
    )


def unless_quiet(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Run a command; with --quiet, a Problem is an exit status and nothing else."""
    try:
        return run(args)
    except Problem:
        if args.quiet:
            return 1
        raise


def checked_topic(topic: str) -> str:
    """This topic name; InvalidInput if nothing can be published to it."""
    return _checked(topic, check_topic_name)


def checked_filter(topic_filter: str) -> str:
    """This topic filter; InvalidInput if it is none."""
    return _checked(topic_filter, check_topic_filter)


def _checked(text: str, check: Callable[[str], None]) -> str:
    try:
        check(text)
    except ProtocolError as error:
        raise InvalidInput(str(error)) from None
    return text


def _silent(_text: str) -> None:
    pass


def _apply_url(args: argparse.Namespace) -> str:
    """Take the parts of -L as if they had been given one by one; its topic is returned."""
    try:
        parts = urlsplit(args.url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"-L {args.url}: {error}") from None
    if parts.scheme not in {"mqtt", "mqtts"} or not parts.hostname or len(parts.path) < 2:
        raise InvalidInput(f"-L {args.url}: expected mqtt(s)://[user[:password]@]host[:port]/topic")
    args.host, args.port = parts.hostname, port or args.port
    args.tls = parts.scheme == "mqtts"
    if parts.username is not None:
        args.username = unquote(parts.username)
    if parts.password is not None:
        args.pw = unquote(parts.password)
    return unquote(parts.path[1:])


def _address(args: argparse.Namespace) -> Address:
    wants_tls = args.tls or args.cafile or args.cert or args.port == _TLS_PORT
    tls = _tls(args) if wants_tls else None
    port = args.port or (_TLS_PORT if tls else _PORT)
    return Address(args.host or "localhost", port, args.unix, tls)


def _tls(args: argparse.Namespace) -> ssl.SSLContext:
    if (args.cert is None) != (args.key is None):
        raise InvalidInput("--cert and --key belong together")
    try:
        context = ssl.create_default_context(cafile=args.cafile)
        if args.cert:
            context.load_cert_chain(args.cert, args.key)
    except OSError as error:
        files = ", ".join(name for name in (args.cafile, args.cert, args.key) if name)
        raise StorageError(f"cannot use {files}: {certificate_file_error(error)}") from None
    context.check_hostname = not args.insecure
    return context


def _connect(args: argparse.Namespace, options: PropertyOptions) -> Connect:
    if args.disable_clean_session and not args.id:
        raise InvalidInput("-c keeps a session for a client with a name: give it one with -i")
    if args.pw is not None and args.username is None and options.version < 5:
        raise InvalidInput("a password (-P) needs a user name (-u) before MQTT 5")
    if not 0 <= args.keepalive <= 0xFFFF:
        raise InvalidInput(f"-k {args.keepalive}: expected 0 to 65535 seconds")
    properties = options.of("connect")
    expiry = _session_expiry(args, options.version)
    if expiry is not None:
        properties["session_expiry_interval"] = expiry
    return Connect(
        _client_id(args),
        options.version,
        not args.disable_clean_session,
        args.keepalive,
        args.username,
        None if args.pw is None else os.fsencode(args.pw),
        _will(args, options),
        properties,
    )


def _client_id(args: argparse.Namespace) -> str:
    if args.id is not None and args.id_prefix is not None:
        raise InvalidInput("-i and -I exclude each other")
    if args.id_prefix is not None:
        return f"{args.id_prefix}{os.getpid()}"
    # Some servers do not make up names for clients, and MQTT 3.1 does not know how.
    return str(args.id) if args.id is not None else f"helio-{secrets.token_hex(6)}"


def _session_expiry(args: argparse.Namespace, version: int) -> int | None:
    if args.session_expiry is None:
        # Without an expiry a session of MQTT 5 ends with its connection, which is not what -c asks for.
        return _FOREVER if args.disable_clean_session and version == 5 else None
    if version < 5:
        raise InvalidInput("-x needs MQTT 5 (-V mqttv5)")
    if not -1 <= args.session_expiry <= _FOREVER:
        raise InvalidInput(f"-x {args.session_expiry}: expected 0 to {_FOREVER} seconds, or -1 for ever")
    return int(args.session_expiry) & _FOREVER


def _will(args: argparse.Namespace, options: PropertyOptions) -> Will | None:
    properties = options.of("will")
    if args.will_topic is None:
        if args.will_payload is not None or args.will_qos is not None or args.will_retain or properties:
            raise InvalidInput("a will needs a topic: --will-topic")
        return None
    topic = checked_topic(args.will_topic)
    return Will(topic, os.fsencode(args.will_payload or ""), args.will_qos or 0, args.will_retain, properties)
