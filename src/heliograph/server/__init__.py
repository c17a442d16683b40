"""The process: listeners, configuration, life cycle, metrics."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.server.access.passwords import PasswordFile
    from heliograph.server.config.loading import Config, load
    from heliograph.server.config.schema import LogFormat, LogLevel, PipelineConfig, StorageConfig
    from heliograph.server.hosts import address_from_here
    from heliograph.server.http.stream_pages import StreamPages, as_json
    from heliograph.server.network.certificates import tls_context
    from heliograph.server.network.loop import AVAILABLE, ClientLoop
    from heliograph.server.process import Server
    from heliograph.server.processes.pipeline_folder import FOLDER

__getattr__ = lazy_names(
    __name__,
    {
        "access.passwords": "PasswordFile",
        "config.loading": "Config load",
        "config.schema": "LogFormat LogLevel PipelineConfig StorageConfig",
        "processes.pipeline_folder": "FOLDER",
        "http.stream_pages": "StreamPages as_json",
        "hosts": "address_from_here",
        "network.certificates": "tls_context",
        "network.loop": "AVAILABLE ClientLoop",
        "process": "Server",
    },
)

__all__ = [
    "AVAILABLE",
    "FOLDER",
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
    "as_json",
    "load",
    "tls_context",
]
