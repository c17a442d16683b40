"""Systems under test: how each is started, configured, asked for its statistics, and stopped."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.targets.heliograph_server import Heliograph
    from heliograph.lab.targets.system_under_test import Kind
    from heliograph.lab.targets.target_catalogue import chosen, known_names

__getattr__ = lazy_names(
    __name__,
    {
        "heliograph_server": "Heliograph",
        "system_under_test": "Kind",
        "target_catalogue": "chosen known_names",
    },
)

__all__ = ["Heliograph", "Kind", "chosen", "known_names"]
