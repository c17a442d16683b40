"""Packages that import their modules on first use: importing one name does not import all the others."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package. `modules` has, by module below the package, the names that it has.

    A module that has its own name there is itself meant.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module {package} has no attribute {name}")
        module = import_module(f"{package}.{place}")
        found = module if place.rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, found)  # found without this function from now on
        return found

    return find
