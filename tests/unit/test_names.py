"""The names that the packages offer load on first use, all of them exist, and importing stays cheap."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dalenius

SOURCE = Path(dalenius.__file__).parent
INITS = {
    ".".join(("dalenius", *path.parent.relative_to(SOURCE).parts)): ast.parse(path.read_text())
    for path in sorted(SOURCE.rglob("__init__.py"))
    if "_HOMES" in path.read_text()
}
PACKAGES = list(INITS)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_exists(package: str) -> None:
    module = importlib.import_module(package)
    for name in dir(module):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def homes(package: str) -> dict[str, str]:
    """What type checkers are told: every name with the module, below the package, that it is imported from."""
    imports = [node for node in ast.walk(INITS[package]) if isinstance(node, ast.ImportFrom) and node.module]
    told = {alias.name: node.module or "" for node in imports for alias in node.names if alias.asname}
    return {name: f"{home}.{name}" if home == package else home for name, home in told.items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_are_told_the_same_names_with_the_same_homes(package: str) -> None:
    stated = next(node.value for node in INITS[package].body if ast.unparse(node).startswith("_HOMES"))
    listed = ast.literal_eval(stated)
    assert homes(package) == {name: f"{package}.{home}" for name, home in listed.items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_submodule_hides_a_name(package: str) -> None:
    """Importing a submodule sets it as an attribute of its package, in the place of a function of the same name."""
    folder = Path(importlib.import_module(package).__path__[0])
    for name, home in homes(package).items():
        assert home == f"{package}.{name}" or not [*folder.glob(f"{name}.py"), *folder.glob(f"{name}/__init__.py")]


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
