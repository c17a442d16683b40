"""The tables of the configuration file: their keys, defaults and meaning. The whole file is `config.Config`."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from heliograph.broker import DEAD_LETTER_QUEUE, QueueDefinition, queue_name_mistake
from heliograph.common.ports import PAGES_PORT
from heliograph.objects import About, Effect, Range, attributes_of
from heliograph.server.hosts import address_text, is_loopback

# Stands for a default that depends on other fields; __post_init__ puts the value in its place.
DERIVED: Any = None

PORTS = Range(0, 65535)


class LogLevel(StrEnum):
    """The least severe kind of message that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line is written."""

    TEXT = "text"
    JSON = "json"


class ListenerProtocol(StrEnum):
    """What the clients of a listener speak."""

    MQTT = "mqtt"
    AMQP = "amqp"


class ListenerKind(StrEnum):
    """What a listener speaks below MQTT or AMQP."""

    TCP = "tcp"
    TLS = "tls"
    WS = "ws"
    WSS = "wss"
    UNIX = "unix"


class ClientCertificates(StrEnum):
    """Whether a TLS client shows a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class TlsVersion(StrEnum):
    """A version of TLS."""

    V1_2 = "1.2"
    V1_3 = "1.3"


class Durability(StrEnum):
    """When a message counts as safe, and its sender may be told so."""

    DISK = "disk"
    MEMORY = "memory"


DEFAULT_PORT = {
    (ListenerProtocol.MQTT, ListenerKind.TCP): 1883,
    (ListenerProtocol.MQTT, ListenerKind.TLS): 8883,
    (ListenerProtocol.MQTT, ListenerKind.WS): 8083,
    (ListenerProtocol.MQTT, ListenerKind.WSS): 8084,
    (ListenerProtocol.AMQP, ListenerKind.TCP): 5672,
    (ListenerProtocol.AMQP, ListenerKind.TLS): 5671,
    (ListenerProtocol.AMQP, ListenerKind.WS): 8085,
    (ListenerProtocol.AMQP, ListenerKind.WSS): 8086,
}


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Who this server is."""

    name: Annotated[
        str, About("Name of this server, for people: in logs and statistics. AMQP clients see it as container-id.")
    ] = "heliograph"
    failover: Annotated[
        tuple[str, ...],
        About(
            "Where AMQP clients may go when this server does not answer, as in `amqp://standby:5672`; they are told so."
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What is logged, to standard error."""

    level: Annotated[LogLevel, About("Least severe messages logged.")] = LogLevel.INFO
    format: Annotated[
        LogFormat, About("`text`: lines for people, with particulars as `key=value`. `json`: one JSON object per line.")
    ] = LogFormat.TEXT


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """One place where clients connect."""

    name: Annotated[
        str, About("Name of this listener in logs.", default="kind and address, as in `tcp:127.0.0.1:1883`")
    ] = ""
    protocol: Annotated[
        ListenerProtocol,
        About("What clients speak: MQTT 3.1, 3.1.1 and 5 (`mqtt`), or AMQP 1.0 (`amqp`).", effect=Effect.RESTART),
    ] = ListenerProtocol.MQTT
    kind: Annotated[
        ListenerKind,
        About(
            "How they come: plain TCP (`tcp`), TLS (`tls`), WebSocket (`ws`), WebSocket over TLS (`wss`), or a Unix "
            "socket (`unix`).",
            effect=Effect.RESTART,
        ),
    ] = ListenerKind.TCP
    host: Annotated[
        str,
        About(
            "IPv4 or IPv6 address or name; empty or `*` is every interface, both families. None for `unix`.",
            default="`127.0.0.1`",
            effect=Effect.RESTART,
        ),
    ] = DERIVED
    port: Annotated[
        int,
        About(
            "0 is any free port; the log says which. None for `unix`.",
            range=PORTS,
            default="1883 for `tcp`, 8883 for `tls`, 8083 for `ws`, 8084 for `wss`; with `amqp` 5672, 5671, 8085, 8086",
            effect=Effect.RESTART,
        ),
    ] = DERIVED
    path: Annotated[
        str,
        About(
            "Socket file of a `unix` listener (needed), or URL path of `ws` and `wss`.",
            default="`/mqtt` or `/amqp` for `ws` and `wss`",
            effect=Effect.RESTART,
        ),
    ] = ""
    origins: Annotated[
        tuple[str, ...],
        About(
            "Web pages that may use `ws` and `wss`, by where they come from, as in `https://app.example.com`; `*` is "
            "all."
        ),
    ] = ()
    cert: Annotated[Path | None, About("Certificate chain of `tls` and `wss` (needed), in PEM form.")] = None
    key: Annotated[
        Path | None, About("Private key of `tls` and `wss` (needed), in PEM form, without a passphrase.")
    ] = None
    client_ca: Annotated[
        Path | None,
        About(
            "Certificates of the authorities that client certificates must come from, in PEM form.",
            effect=Effect.RESTART,
        ),
    ] = None
    client_certificates: Annotated[
        ClientCertificates,
        About("Whether clients of `tls` and `wss` show a certificate. `optional` and `required` need `client_ca`."),
    ] = ClientCertificates.NONE
    tls_min: Annotated[TlsVersion, About("Oldest version of TLS accepted.")] = TlsVersion.V1_2
    certificate_user: Annotated[
        bool,
        About("Whether the common name of a verified client certificate is the user name, with no password needed."),
    ] = True
    anonymous: Annotated[
        bool,
        About(
            "Whether clients may connect without a user name.",
            default="`true` on loopback and `unix`, `false` elsewhere",
        ),
    ] = DERIVED

    def __post_init__(self) -> None:
        """Put the defaults that depend on other fields in their places."""
        unix = self.kind is ListenerKind.UNIX
        if self.host is DERIVED:
            self._settle("host", "" if unix else "127.0.0.1")
        if self.port is DERIVED:
            self._settle("port", DEFAULT_PORT.get((self.protocol, self.kind), 0))
        if self.kind in {ListenerKind.WS, ListenerKind.WSS} and not self.path:
            self._settle("path", f"/{self.protocol}")
        if self.anonymous is DERIVED:
            self._settle("anonymous", self.private)
        if not self.name:
            self._settle("name", f"{self.kind}:{self.address}")

    def _settle(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # frozen for everyone else

    @property
    def encrypted(self) -> bool:
        """Whether this listener speaks TLS."""
        return self.kind in {ListenerKind.TLS, ListenerKind.WSS}

    @property
    def private(self) -> bool:
        """Whether only this machine can reach the listener."""
        return self.kind is ListenerKind.UNIX or is_loopback(self.host)

    @property
    def address(self) -> str:
        """Where the listener is, for people: `127.0.0.1:1883` or the path of its socket."""
        return self.path if self.kind is ListenerKind.UNIX else address_text(self.host, self.port)


@dataclass(frozen=True, slots=True)
class AccessConfig:
    """Who may connect."""

    password_file: Annotated[Path | None, About("User names and passwords, written by `helio passwd FILE USER`.")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Where everything durable is kept, and how safe it is before it is acknowledged."""

    directory: Annotated[
        str,
        About(
            "Folder of the log; a relative path starts beside the configuration file. Made if it is not there. One "
            "server at a time can use it.",
            effect=Effect.RESTART,
        ),
    ] = "heliograph-data"
    durability: Annotated[
        Durability,
        About(
            "`disk`: a message is acknowledged when it has been forced to the disk. `memory`: when the kernel has "
            "it; losing power may lose messages.",
            effect=Effect.RESTART,
        ),
    ] = Durability.DISK
    commit_interval: Annotated[
        float,
        About(
            "Least time from one forcing of the disk to the next, while no client waits that sends again right after "
            "each answer; 0 is none.",
            unit="seconds",
            range=Range(0, 0.1),
            effect=Effect.RESTART,
        ),
    ] = 0.005


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """The pages for operators: metrics, statistics and health."""

    enabled: Annotated[bool, About("Whether the pages are served.", effect=Effect.RESTART)] = True
    host: Annotated[
        str,
        About(
            "As the host of a listener. The pages have no access control: keep them to machines you trust.",
            effect=Effect.RESTART,
        ),
    ] = "127.0.0.1"
    port: Annotated[int, About("0 is any free port; the log says which.", range=PORTS, effect=Effect.RESTART)] = (
        PAGES_PORT
    )
    connections: Annotated[
        int,
        About(
            "Connections to the pages at once, less if there are few file descriptors. When there are more, the one "
            "gives way that has been silent longest.",
            range=Range(1),
        ),
    ] = 64
    hosts: Annotated[
        tuple[str, ...],
        About(
            "Names of this server, beside `localhost`, IP addresses, `host` and the machine's name: in addresses of "
            "the pages, and as the `hostname` that AMQP clients ask for where there are queue managers."
        ),
    ] = ()
    make_streams: Annotated[
        bool,
        About(
            "Whether whoever reaches the pages may make streams, which cost disk, and delete them.",
            default="`true` if `host` is loopback, `false` elsewhere",
        ),
    ] = DERIVED

    def __post_init__(self) -> None:
        """Put the default that depends on the host in its place."""
        if self.make_streams is DERIVED:
            object.__setattr__(self, "make_streams", is_loopback(self.host))


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """A pipeline: a flow or a job on Spark, in a process of its own."""

    name: Annotated[
        str,
        About(
            "Name of the pipeline: letters, digits, `-`, `_` and `.`, a letter or digit first.", default="none (needed)"
        ),
    ] = ""
    start: Annotated[
        bool, About("Whether the server starts it. One that is not started can be, with `helio pipeline start NAME`.")
    ] = True
    flow: Annotated[str, About("Folder of the flow that messages go through.", default="none (this or `job`)")] = ""
    job: Annotated[
        str,
        About(
            "Python file with `build(spark, settings)`, which starts queries of its own and returns them.",
            default="none (this or `flow`)",
        ),
    ] = ""
    source: Annotated[
        str,
        About(
            "Where messages come from: `stream:NAME`, or `topic:FILTER`, for which a stream is made.",
            default="none (needed)",
        ),
    ] = ""
    sinks: Annotated[
        dict[str, str],
        About(
            "Where outputs of the flow's nodes go, by node: `topic:NAME`, `queue:NAME`, `parquet:PATH` or "
            "`table:URL#TABLE`; `dead_letters` is for messages that fail.",
            default="as the flow says",
        ),
    ] = field(default_factory=dict)
    env: Annotated[str, About("Environment of the flow: the parameters are those of `parameters/ENV.yaml`.")] = ""
    set: Annotated[dict[str, str], About("Parameters of the flow, before all others, or of the job.")] = field(
        default_factory=dict
    )
    input: Annotated[
        str, About("The input node that messages go into, if the flow has several.", default="the only one")
    ] = ""
    begin: Annotated[
        str,
        About(
            "Where it begins when it is new: `latest`, `earliest`, a time (`2026-01-31T12:00:00Z`), or offsets by "
            'partition (`{"0": 5}`).',
            key="from",
            default="`latest`",
        ),
    ] = ""
    fail_on_data_loss: Annotated[
        bool,
        About(
            "Whether it fails if messages are gone before it has read them; if not, it goes on with what there is, "
            "and logs a warning."
        ),
    ] = True
    most_messages: Annotated[int, About("Messages in a batch at most; 0 is no limit.")] = 0
    interval: Annotated[
        float,
        About(
            "Least time between two batches; 0: a batch follows when there is something for it.",
            unit="seconds",
            range=Range(0, 86400),
        ),
    ] = 0.0
    lookup_cache: Annotated[
        int, About("Answers of databases that each process of the flow keeps, so as not to ask again.")
    ] = 0
    state: Annotated[
        str,
        About(
            "Folder of the flow's embedded databases, each of which is a file `NAME.db` there.",
            default="`state` in the folder `pipelines/NAME` of `[storage]`",
        ),
    ] = ""
    server: Annotated[
        str, About("The pages of another server, as in `http://broker:15880`.", default="this server")
    ] = ""
    user: Annotated[str, About("User name, where the server's AMQP listener wants one.")] = ""
    password: Annotated[str, About("The user's password.")] = ""
    master: Annotated[
        str, About("Where Spark runs: `spark://host:7077`, `yarn`, `k8s://...`.", default="this machine")
    ] = ""
    conf: Annotated[dict[str, str], About('More of Spark\'s settings, as in `{ "spark.driver.memory" = "2g" }`.')] = (
        field(default_factory=dict)
    )
    checkpoint: Annotated[
        str,
        About(
            "Where Spark keeps how far it is: a path or URL.",
            default="`checkpoint` in the folder `pipelines/NAME` of `[storage]`",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class SysTopicsConfig:
    """Statistics published below $SYS."""

    interval: Annotated[
        float, About("Time between two publications of statistics below `$SYS`; 0 turns them off.", unit="seconds")
    ] = 10.0


@dataclass(frozen=True, slots=True)
class QueueConfig(QueueDefinition):
    """One queue, alias or model, and what of MQTT goes into it."""

    topics: Annotated[
        tuple[str, ...], About("MQTT topic filters: what is published to them goes into the queue as well.")
    ] = ()

    @property
    def definition(self) -> QueueDefinition:
        """The queue that is meant."""
        attributes = attributes_of(QueueDefinition)
        return QueueDefinition(**{one.field: getattr(self, one.field) for one in attributes})


@dataclass(frozen=True, slots=True)
class QueuesConfig:
    """What is true of all queues."""

    dead_letter_queue: Annotated[
        str,
        About(
            "Takes the dead letters of queues that name no other place for them. Made if it is not there.",
            effect=Effect.RESTART,
            check=queue_name_mistake,
        ),
    ] = DEAD_LETTER_QUEUE
    create: Annotated[
        tuple[str, ...],
        About(
            "Names, as in `dev.*`, of queues that are made when an AMQP client first sends to them or receives from "
            "them."
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class QueueManagerConfig:
    """A queue manager: a process of its own, with its own log, listeners and queues."""

    name: Annotated[
        str,
        About(
            "Name of the queue manager: letters, digits, `-`, `_` and `.`, a letter or digit first, at most 200.",
            default="none (needed)",
            effect=Effect.RESTART,
        ),
    ] = ""
    directory: Annotated[
        str, About("Folder of its log.", default="that of `[storage]`, then `-` and the name", effect=Effect.RESTART)
    ] = ""
    listeners: Annotated[
        tuple[ListenerConfig, ...],
        About(
            "Where its clients connect: `[[queue_manager.listener]]` with the keys of `[[listener]]`.",
            key="listener",
            default="AMQP on a free port of this machine",
            whole=True,
        ),
    ] = ()
    queues: Annotated[
        tuple[QueueConfig, ...],
        About(
            "Its queues: `[[queue_manager.queue]]` with the keys of `[[queue]]`.",
            key="queue",
            default="none",
            whole=True,
        ),
    ] = ()
    http: Annotated[
        HttpConfig,
        About(
            "Its pages for operators: `[queue_manager.http]` with the keys of `[http]`.", default="no pages", whole=True
        ),
    ] = field(default_factory=lambda: HttpConfig(enabled=False))
