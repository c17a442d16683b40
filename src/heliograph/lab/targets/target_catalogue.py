"""Every system that can be measured, and the choice of them by name. To add one, write a class and list it here."""

from collections.abc import Sequence

from heliograph.flow.definition import suggestion
from heliograph.lab.errors import InvalidTarget
from heliograph.lab.targets.bare_loop import BareLoop
from heliograph.lab.targets.external import ExternalSystem
from heliograph.lab.targets.heliograph_server import Heliograph, HeliographMemory
from heliograph.lab.targets.mosquitto import Mosquitto
from heliograph.lab.targets.nats import Nats
from heliograph.lab.targets.rabbitmq import RabbitMQ
from heliograph.lab.targets.system_under_test import InstalledSystem, SystemKind
from heliograph.lab.targets.target import Target

TARGETS: tuple[type[Target], ...] = (Heliograph, HeliographMemory, Mosquitto, RabbitMQ, Nats, BareLoop)


EXTERNAL = ExternalSystem.name


def system_names() -> list[str]:
    """All systems that can be named."""
    return [*(kind.name for kind in TARGETS if kind is not BareLoop), EXTERNAL]


def choose_systems(names: Sequence[str], urls: Sequence[str], ca_file: str | None, *, verify: bool) -> list[SystemKind]:
    """The systems of these names, in this order."""
    return [_kind(name, urls, ca_file, verify) for name in dict.fromkeys(names)]


def _kind(name: str, urls: Sequence[str], ca_file: str | None, verify: bool) -> SystemKind:
    if name == EXTERNAL:
        return ExternalSystem(urls, ca_file, verify=verify)
    for target in TARGETS:
        if target.name == name and target is not BareLoop:
            return InstalledSystem(target())
    names = system_names()
    raise InvalidTarget(f"no target is called '{name}'{suggestion(name, names)}; known are {', '.join(names)}")
