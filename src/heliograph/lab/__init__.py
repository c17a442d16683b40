"""The load generator, and what measures any MQTT or AMQP broker with it, over the wire."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.machine import raise_file_limit
    from heliograph.lab.network import BrokerGone

__getattr__ = lazy_names(
    __name__,
    {
        "machine": "raise_file_limit",
        "network": "BrokerGone",
    },
)

__all__ = ["BrokerGone", "raise_file_limit"]
