"""Packages that import their modules on first use."""

import sys
from types import ModuleType

import pytest

from heliograph.common import ports
from heliograph.common.lazy_names import lazy_names


@pytest.fixture
def find():
    """`__getattr__` of a package that shows a name of a module, and a module itself."""
    return lazy_names("heliograph.common", {"ports": "PAGES_PORT ports"})


def test_a_name_is_found_in_its_module_and_then_in_the_package(find, monkeypatch) -> None:
    monkeypatch.delattr(sys.modules["heliograph.common"], "PAGES_PORT", raising=False)
    assert find("PAGES_PORT") == ports.PAGES_PORT
    assert sys.modules["heliograph.common"].PAGES_PORT == ports.PAGES_PORT
    monkeypatch.undo()


def test_a_module_of_its_own_name_is_itself_meant(find) -> None:
    found = find("ports")
    assert isinstance(found, ModuleType)
    assert found is ports


def test_any_other_name_is_an_attribute_error(find) -> None:
    with pytest.raises(AttributeError, match=r"module heliograph\.common has no attribute nothing"):
        find("nothing")
