"""Systems under test: how each is started, configured, asked for its statistics, and stopped."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.targets.choosing import chosen, known_names
    from heliograph.lab.targets.heliograph_server import Heliograph
    from heliograph.lab.targets.system import Kind

__getattr__ = lazy_names(
    __name__,
    {
        "choosing": "chosen known_names",
        "heliograph_server": "Heliograph",
        "system": "Kind",
    },
)

__all__ = ["Heliograph", "Kind", "chosen", "known_names"]
