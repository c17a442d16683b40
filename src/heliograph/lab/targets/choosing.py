"""Which systems are measured."""

from collections.abc import Sequence

from heliograph.flow.definition import suggestion
from heliograph.lab.errors import InvalidTarget
from heliograph.lab.targets.bare_loop import BareLoop
from heliograph.lab.targets.external import External
from heliograph.lab.targets.peers import TARGETS
from heliograph.lab.targets.system import Installed, Kind

EXTERNAL = External.name


def known_names() -> list[str]:
    """All systems that can be named."""
    return [*(kind.name for kind in TARGETS if kind is not BareLoop), EXTERNAL]


def chosen(names: Sequence[str], urls: Sequence[str], ca_file: str | None, *, verify: bool) -> list[Kind]:
    """The systems of these names, in this order."""
    return [_kind(name, urls, ca_file, verify) for name in dict.fromkeys(names)]


def _kind(name: str, urls: Sequence[str], ca_file: str | None, verify: bool) -> Kind:
    if name == EXTERNAL:
        return External(urls, ca_file, verify=verify)
    for target in TARGETS:
        if target.name == name and target is not BareLoop:
            return Installed(target())
    names = known_names()
    raise InvalidTarget(f"no target is called '{name}'{suggestion(name, names)}; known are {', '.join(names)}")
