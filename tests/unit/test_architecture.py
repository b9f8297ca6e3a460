"""The rooms keep their order: imports point down, and nothing weak or unsafe is brought in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "dalenius"
FLOORS = [
    {"errors", "lazy", "process"},
    {"privacy"},
    {"randomness", "accounting"},
    {"mechanisms"},
    {"query"},
    {"engines"},
    {"curator"},
    {"server"},
    {"attacks", "audit"},
    {"cli"},
    {"__init__", "__main__"},
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
BANNED_MODULES = {"random", "pickle", "marshal", "shelve", "secrets"}
BANNED_CALLS = {"eval", "exec", "compile"}
FLOAT_LAWS = {"exp", "log", "log1p", "expm1", "log2", "log10", "pow", "gumbel", "laplace"}
FILES = sorted(SOURCE.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def upward(room: str, tree: ast.AST) -> list[str]:
    rooms = [module.split(".")[1] for module in imported(tree) if module.startswith("dalenius.")]
    return [other for other in rooms if FLOOR[other] > FLOOR[room] or (other != room and FLOOR[other] == FLOOR[room])]


def banned(tree: ast.AST) -> list[str]:
    modules = [
        module for module in imported(tree) if module.split(".")[0] in BANNED_MODULES or "numpy.random" in module
    ]
    attributes = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"np.random", "numpy.random"}
    ]
    calls = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS
    ]
    return modules + attributes + calls


def float_laws(tree: ast.AST) -> list[str]:
    """Float logarithms and exponentials: `math.exp`, `np.log` and their kin."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in FLOAT_LAWS
        and isinstance(node.value, ast.Name)
        and node.value.id in {"math", "np", "numpy", "cmath"}
    ]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_point_down(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert upward(room, ast.parse(path.read_text())) == []


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_weak_or_unsafe_is_used(path: Path) -> None:
    assert banned(ast.parse(path.read_text())) == []


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name != "cli"], ids=name)
def test_no_float_logarithm_or_exponential_is_taken(path: Path) -> None:
    assert float_laws(ast.parse(path.read_text())) == []


@pytest.mark.parametrize("path", FILES, ids=name)
def test_files_stay_readable(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 600


def test_the_checks_above_notice_what_they_look_for() -> None:
    bad = ast.parse(
        "import numpy.random\nfrom random import random\nfrom dalenius.cli import demo\n"
        "x = np.random.laplace()\neval('1')\nmath.exp(1)\nnp.log(2)"
    )
    assert len(banned(bad)) == 4
    assert upward("mechanisms", bad) == ["cli"]
    assert float_laws(bad) == ["math.exp", "np.log"]
