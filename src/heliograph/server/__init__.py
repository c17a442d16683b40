"""The process: event loop, listeners, configuration, credentials, pages, life cycle.

Begin with `process.py`, which starts, reloads and stops everything, and with `network/sockets.py`, which reads from and
writes to clients. `load_config` and `Server` are all that it takes to run a server:

    with asyncio.Runner(loop_factory=ClientLoop if HAS_EPOLL else None) as runner:
        runner.run(serve(Server(load_config(path))))

`network/` has the event loop, sockets, TLS and WebSocket; `access/` passwords and who may connect; `config/` the
declarations of the configuration and its rules; `http/` the pages of operators and streams; `processes/` queue managers
and pipelines as processes of their own.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.server.access.passwords import PasswordFile
    from heliograph.server.config.loading import Config, load_config, queue_manager_config
    from heliograph.server.config.schema import LogFormat, LogLevel, PipelineConfig, StorageConfig
    from heliograph.server.hosts import address_from_here
    from heliograph.server.http.stream_pages import StreamPages, stream_message_json
    from heliograph.server.logs import configure_logging
    from heliograph.server.network.certificates import tls_context
    from heliograph.server.network.loop import HAS_EPOLL, ClientLoop
    from heliograph.server.process import Server
    from heliograph.server.processes.pipeline_folder import PIPELINES_FOLDER

__getattr__ = lazy_names(
    __name__,
    {
        "access.passwords": "PasswordFile",
        "config.loading": "Config load_config queue_manager_config",
        "config.schema": "LogFormat LogLevel PipelineConfig StorageConfig",
        "processes.pipeline_folder": "PIPELINES_FOLDER",
        "http.stream_pages": "StreamPages stream_message_json",
        "hosts": "address_from_here",
        "logs": "configure_logging",
        "network.certificates": "tls_context",
        "network.loop": "HAS_EPOLL ClientLoop",
        "process": "Server",
    },
)

__all__ = [
    "HAS_EPOLL",
    "PIPELINES_FOLDER",
    "ClientLoop",
    "Config",
    "LogFormat",
    "LogLevel",
    "PasswordFile",
    "PipelineConfig",
    "Server",
    "StorageConfig",
    "StreamPages",
    "address_from_here",
    "configure_logging",
    "load_config",
    "queue_manager_config",
    "stream_message_json",
    "tls_context",
]
