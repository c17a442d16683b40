"""The load generator, and what measures any MQTT or AMQP broker with it, over the wire."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.errors import BrokerGone
    from heliograph.lab.machine import raise_file_limit
    from heliograph.lab.text_table import rounded

__getattr__ = lazy_names(
    __name__,
    {
        "errors": "BrokerGone",
        "machine": "raise_file_limit",
        "text_table": "rounded",
    },
)

__all__ = ["BrokerGone", "raise_file_limit", "rounded"]
