"""Dependencies: every one has a floor and a tested major version, and the lock names versions between them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
WRITTEN = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = WRITTEN["project"], WRITTEN["dependency-groups"]
LOCK, DEMO = ((ROOT / name).read_text() for name in ("requirements.lock", "requirements-demo.lock"))
SAFE = {"h11": "0.16", "starlette": "0.49.1", "cryptography": "44.0.1"}
"""The first versions without holes that are known: CVE-2025-43859, CVE-2025-62727 and CVE-2024-12797."""


def declared() -> Iterator[Requirement]:
    for text in [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values(), *GROUPS.values())]:
        if (found := Requirement(text)).name != PROJECT["name"]:
            yield found


def locked(text: str) -> dict[str, list[Requirement]]:
    """What a lock names, by name; one may have a version for each kind of Python. Refuses what has no hash."""
    found: dict[str, list[Requirement]] = {}
    for block in re.split(r"\n(?=\S)", re.sub(r"(?m)^\s*#.*\n", "", text).strip()):
        first, *hashes = block.replace("\\\n", "\n").splitlines()
        if not hashes or not all(re.fullmatch(r"\s+--hash=sha256:[0-9a-f]{64}\s*", each) for each in hashes):
            raise ValueError(f"{first} has no hash")
        made = Requirement(first)
        found.setdefault(canonicalize_name(made.name), []).append(made)
    return found


def outside(wanted: Requirement, lock: dict[str, list[Requirement]]) -> list[str]:
    """The versions that a lock names and a declaration does not allow."""
    names = [next(iter(each.specifier)).version for each in lock.get(canonicalize_name(wanted.name), [])]
    return [name for name in names if not wanted.specifier.contains(name)]


@pytest.mark.parametrize("wanted", list(declared()), ids=str)
def test_every_dependency_has_a_floor_and_a_tested_major_version(wanted: Requirement) -> None:
    assert {each.operator for each in wanted.specifier} == {">=", "<"}
    assert outside(wanted, locked(LOCK)) == []
    if wanted.name not in ("z3-solver",):  # for readers of proofs alone, and in no command of the project
        assert canonicalize_name(wanted.name) in locked(LOCK)
        assert wanted.specifier.contains(version(wanted.name)), "run make again: .venv has other versions"


@pytest.mark.parametrize("name", SAFE)
def test_no_version_with_a_known_hole_is_allowed(name: str) -> None:
    (wanted,) = (each for each in declared() if each.name == name)
    floor = next(each.version for each in wanted.specifier if each.operator == ">=")
    assert Version(floor) >= Version(SAFE[name])


def test_the_tests_above_notice_another_version_and_a_missing_hash() -> None:
    other = re.sub(r"(?m)^duckdb==\S+", "duckdb==3.0.0", LOCK)
    assert outside(next(each for each in declared() if each.name == "duckdb"), locked(other)) == ["3.0.0"]
    with pytest.raises(ValueError, match=r"duckdb==2\.0\.0 has no hash"):
        locked("duckdb==2.0.0\nh11==0.16.0 \\\n    --hash=sha256:" + "0" * 64)


def test_the_environment_of_every_command_is_installed_from_the_lock() -> None:
    made = (ROOT / "Makefile").read_text()
    assert re.findall(r"pip install(?! --quiet --disable-pip-version-check uv).*", made) == [
        "pip install --disable-pip-version-check --require-hashes --requirement $(1)",
        "pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .",
    ]
    assert re.findall(r"\$\(call install,(requirements[^,]*),", made) == ["requirements-demo.lock", "requirements.lock"]
    for lock in (LOCK, DEMO):
        assert "http" not in re.sub(r"(?m)^\s*#.*", "", lock).replace("httpx", "").replace("httpcore", "")


def test_the_demo_has_the_versions_of_the_tests_and_a_quarter_of_the_packages() -> None:
    demo, tested = locked(DEMO), locked(LOCK)
    assert {name: [*map(str, each)] for name, each in demo.items()} == {
        name: [*map(str, tested[name])] for name in demo
    }
    assert len(demo) <= len(tested) / 4
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["demo"], *GROUPS["build"]]
    assert {canonicalize_name(Requirement(text).name) for text in wanted} <= demo.keys()
