"""The tables of the configuration file: their keys, defaults and meaning. The whole file is `config.Config`."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from heliograph.broker.queues.definition import (
    DEAD_LETTER_QUEUE,
    LONGEST_LIFE,
    Kind,
    Order,
    QueueDefinition,
    milliseconds,
)
from heliograph.objects.attributes import Key, Ranges
from heliograph.objects.bounds import Range, bounds_of
from heliograph.ports import PAGES_PORT
from heliograph.server.addresses import address_text, is_loopback

# Stands for a default that depends on other fields; __post_init__ puts the value in its place.
DERIVED: Any = None

Port = Annotated[int, Range(0, 65535)]


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

    name: str = "heliograph"
    """Name of this server, for people: in logs and statistics."""
    failover: tuple[str, ...] = ()
    """Where AMQP clients may go when this server does not answer, as in "amqp://standby:5672"; they are told so."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What is logged, to standard error."""

    level: LogLevel = LogLevel.INFO
    """Least severe messages logged."""
    format: LogFormat = LogFormat.TEXT
    """Lines for people, or one JSON object per line."""


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """One place where clients connect."""

    name: str = ""
    """Name of this listener in logs; by default its kind and address, as in "tcp:127.0.0.1:1883"."""
    protocol: ListenerProtocol = ListenerProtocol.MQTT
    """What clients speak: mqtt (3.1, 3.1.1 and 5) or amqp (1.0)."""
    kind: ListenerKind = ListenerKind.TCP
    """How they come: plain TCP, TLS, WebSocket, WebSocket over TLS, or a Unix socket."""
    host: str = DERIVED
    """IPv4 or IPv6 address or name; "" or "*" is every interface, both families. Default 127.0.0.1; none for unix."""
    port: Port = DERIVED
    """Default by kind: 1883, 8883, 8083, 8084 (tcp, tls, ws, wss); amqp 5672, 5671, 8085, 8086. 0 is any free port."""
    path: str = ""
    """Socket file of a unix listener (needed); URL path of ws and wss, by default "/mqtt" or "/amqp"."""
    origins: tuple[str, ...] = ()
    """Web pages that may use ws and wss, by where they come from, as in "https://app.example.com"; "*" is all."""
    cert: Path | None = None
    """Certificate chain of tls and wss (needed), in PEM form."""
    key: Path | None = None
    """Private key of tls and wss (needed), in PEM form, without a passphrase."""
    client_ca: Path | None = None
    """Certificates of the authorities that client certificates must come from, in PEM form."""
    client_certificates: ClientCertificates = ClientCertificates.NONE
    """Whether clients of tls and wss show a certificate; optional and required need client_ca."""
    tls_min: TlsVersion = TlsVersion.V1_2
    """Oldest version of TLS accepted."""
    certificate_user: bool = True
    """Whether the common name of a verified client certificate is the user name, with no password needed."""
    anonymous: bool = DERIVED
    """Whether clients may connect without a user name. Default true on loopback and unix, false elsewhere."""

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

    password_file: Path | None = None
    """User names and passwords, written by `helio passwd`."""


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Where everything durable is kept, and how safe it is before it is acknowledged."""

    directory: str = "heliograph-data"
    """Folder of the log; a relative path starts beside this file. Made if it is not there. One server at a time."""
    durability: Durability = Durability.DISK
    """disk: acknowledged when forced to the disk. memory: when the kernel has it; losing power may lose messages."""
    commit_interval: Annotated[float, Range(0, 0.1)] = 0.003
    """Least seconds from one time that the disk is forced to the next, while no client waits that sends again right
    after each answer; 0 is none."""


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """The pages for operators: metrics, statistics and health."""

    enabled: bool = True
    """Whether the pages are served."""
    host: str = "127.0.0.1"
    """As the host of a listener. The pages have no access control: keep them to machines you trust."""
    port: Port = PAGES_PORT
    """0 is any free port."""
    connections: Annotated[int, Range(1)] = 64
    """Connections to the pages at once. When there are more, the one gives way that has been silent longest."""
    hosts: tuple[str, ...] = ()
    """Names of this server, beside localhost, IP addresses, host and the machine's name: in addresses of the pages, and
    as the hostname that AMQP clients ask for where there are queue managers."""
    make_streams: bool = DERIVED
    """Whether whoever reaches the pages may make and delete streams. Default: only if host is loopback."""

    def __post_init__(self) -> None:
        """Put the default that depends on the host in its place."""
        if self.make_streams is DERIVED:
            object.__setattr__(self, "make_streams", is_loopback(self.host))


PIPELINE_RANGES = {"interval": Range(0, 86400)}


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """A pipeline: a flow or a job on Spark, in a process of its own."""

    name: str = ""
    """Name of the pipeline: letters, digits, "-", "_" and ".", a letter or digit first."""
    start: bool = True
    """Whether the server starts it. One that is not started can be, with `helio pipeline start NAME`."""
    flow: str = ""
    """Folder of the flow that messages go through; or else job."""
    job: str = ""
    """Python file with build(spark, settings), which starts queries of its own and returns them."""
    source: str = ""
    """Where messages come from: "stream:NAME", or "topic:FILTER", for which a stream is made."""
    sinks: dict[str, str] = field(default_factory=dict)
    """Where outputs of the flow's nodes go, by node: "topic:NAME", "queue:NAME", "parquet:PATH", "table:URL#TABLE"."""
    env: str = ""
    """Environment of the flow: the parameters are those of parameters/ENV.yaml."""
    set: dict[str, str] = field(default_factory=dict)
    """Parameters of the flow, before all others, or of the job."""
    input: str = ""
    """The input node that messages go into, if the flow has several."""
    begin: Annotated[str, Key("from")] = ""
    """Where it begins when it is new: "latest" (the default), "earliest", a time, or offsets by partition."""
    fail_on_data_loss: bool = True
    """Whether it fails if messages are gone before it has read them; otherwise it goes on with what there is."""
    most_messages: int = 0
    """Messages in a batch at most; 0 is no limit."""
    interval: float = 0.0
    """Least seconds between two batches; 0: a batch follows when there is something for it."""
    lookup_cache: int = 0
    """Answers of databases that each process of the flow keeps, so as not to ask again."""
    state: str = ""
    """Folder of the flow's embedded databases; by default state in the folder pipelines/NAME of [storage]."""
    server: str = ""
    """The pages of another server, as in "http://broker:15880"; by default this one's."""
    user: str = ""
    """User name, where the server's AMQP listener wants one."""
    password: str = ""
    """The user's password."""
    master: str = ""
    """Where Spark runs: "spark://host:7077", "yarn", "k8s://..."; by default on this machine."""
    conf: dict[str, str] = field(default_factory=dict)
    """More of Spark's settings, as in { "spark.driver.memory" = "2g" }."""
    checkpoint: str = ""
    """Where Spark keeps how far it is: a path or URL; by default in the folder pipelines/NAME of [storage]."""


@dataclass(frozen=True, slots=True)
class SysTopicsConfig:
    """Statistics published below $SYS."""

    interval: float = 10.0
    """Seconds between two publications; 0 turns them off."""


# As the queues themselves have them, but with times in seconds.
QUEUE_RANGES = {**bounds_of(QueueDefinition), "max_ttl": Range(0, LONGEST_LIFE)}


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """One queue, alias or model."""

    name: str = ""
    """Name of the queue: 1 to 255 letters, digits and . _ / % -."""
    kind: Kind = Kind.LOCAL
    """local: has messages. alias: another name for a queue. model: what queues that clients ask for are made after."""
    description: str = ""
    """For people."""
    topics: tuple[str, ...] = ()
    """MQTT topic filters: what is published to them goes into the queue as well."""
    max_depth: int = 5_000
    """Most messages in the queue; more are refused."""
    max_message_length: int = 4 << 20
    """Largest message, in bytes."""
    put_enabled: bool = True
    """Whether messages are taken."""
    get_enabled: bool = True
    """Whether messages are handed out."""
    default_persistence: bool = False
    """Whether a message that does not say so itself is persistent."""
    default_priority: int = 0
    """Priority of a message that does not name one itself."""
    order: Order = Order.PRIORITY
    """priority: higher priorities first. fifo: as they came."""
    max_ttl: float = 0.0
    """Seconds that a message lives at most, whatever it says itself; 0 is no limit."""
    backout_threshold: int = 0
    """After so many failed deliveries a message goes to backout_queue or becomes a dead letter; 0 is never."""
    backout_queue: str = ""
    """Where messages go that have failed too often; by default they become dead letters."""
    dead_letter_queue: str = ""
    """Where dead letters go; by default to dead_letter_queue of [queues]."""
    exclusive: bool = False
    """Whether there can be one consumer only."""
    target: str = ""
    """Of an alias (needed): the queue that it stands for."""
    temporary: bool = False
    """Of a model: whether its queues go when whoever asked for them goes."""

    @property
    def definition(self) -> QueueDefinition:
        """The queue that is meant; a Problem if it makes no sense."""
        attributes = asdict(self)
        del attributes["topics"]
        return QueueDefinition(**{**attributes, "max_ttl": milliseconds(self.max_ttl)})


@dataclass(frozen=True, slots=True)
class QueuesConfig:
    """What is true of all queues."""

    dead_letter_queue: str = DEAD_LETTER_QUEUE
    """Takes the dead letters of queues that name no other place for them. Made if it is not there."""
    create: tuple[str, ...] = ()
    """Names, as in "dev.*", of queues that are made when an AMQP client first sends to them or receives from them."""


@dataclass(frozen=True, slots=True)
class QueueManagerConfig:
    """A queue manager: a process of its own, with its own log, listeners and queues."""

    name: str = ""
    """Name of the queue manager: letters, digits, "-", "_" and ".", a letter or digit first."""
    directory: str = ""
    """Folder of its log; by default beside the folder of [storage], with "-" and the name added."""
    listeners: Annotated[tuple[ListenerConfig, ...], Key("listener")] = ()
    """Where its clients connect, as [[listener]]; without any, AMQP on a free port of this machine."""
    queues: Annotated[tuple[QueueConfig, ...], Key("queue"), Ranges(QUEUE_RANGES)] = ()
    """Its queues, as [[queue]]."""
    http: HttpConfig = field(default_factory=lambda: HttpConfig(enabled=False))
    """Its pages for operators, as [http]; without this table there are none."""
