"""Systems under test: how each is started, configured, asked for its statistics, and stopped.

A `Target` is a program that the lab can start; a `SystemKind` is anything that scenarios can be run on, which includes
systems that are running already. `choose_systems` finds them by name.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.targets.heliograph_server import Heliograph
    from heliograph.lab.targets.system_under_test import SystemKind
    from heliograph.lab.targets.target_catalogue import choose_systems, system_names

__getattr__ = lazy_names(
    __name__,
    {
        "heliograph_server": "Heliograph",
        "system_under_test": "SystemKind",
        "target_catalogue": "choose_systems system_names",
    },
)

__all__ = ["Heliograph", "SystemKind", "choose_systems", "system_names"]
