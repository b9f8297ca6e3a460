"""The names that the packages offer load on first use, all of them exist, and importing stays cheap."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PACKAGES = [
    "dalenius",
    *(f"dalenius.{room}" for room in ("privacy", "randomness", "accounting", "mechanisms", "audit", "attacks")),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_exists(package: str) -> None:
    module = importlib.import_module(package)
    for name in dir(module):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_measure_is_the_function_whatever_was_imported_before() -> None:
    code = "from dalenius.mechanisms import AboveThreshold, measure; print(callable(measure))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_submodules_load_too() -> None:
    code = "import dalenius as dl; print(dl.privacy.tails.__name__, dl.accounting.reports.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dalenius.privacy.tails", "dalenius.accounting.reports"]


def test_importing_loads_none_of_the_heavy_packages() -> None:
    code = "import sys, dalenius; print(*{'numpy', 'scipy', 'flint', 'cryptography'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
