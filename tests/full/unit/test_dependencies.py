"""The dear tests of `unit/test_dependencies.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import files, packages_distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.unit.test_dependencies import DEMO, LOCK, ROOT, locked

WITHOUT = """
import sys


class Without:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {lacking}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Without())
"""
"""The beginning of a program in an environment that lacks some packages."""


def test_the_demo_runs_on_its_own_packages_and_an_audit_says_which_it_lacks() -> None:
    spare = locked(LOCK).keys() - locked(DEMO).keys()
    lacking = {module for module, each in packages_distributions().items() if spare >= {*map(canonicalize_name, each)}}
    assert {"scipy", "pandas", "pyspark", "starlette", "httpx", "sklearn"} <= lacking
    start = WITHOUT.format(lacking=lacking)
    demo = started(f"{start}from dalenius.cli.main import main; sys.exit(main(['demo']))")
    assert demo.returncode == 0, demo.stderr
    assert "pip install 'dalenius[checks]'" in started(f"{start}import dalenius; dalenius.audit").stderr


def started(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="packages have other sizes elsewhere")
def test_the_demo_takes_about_as_much_of_a_disk_as_is_said() -> None:
    """Bytecode included; pip, which is there already, has some 25 MB more."""
    said = re.search(r"(\d+) MB to download and (\d+) MB on disk", (ROOT / "Makefile").read_text())
    assert said is not None
    taken = sum(path.stat().st_size for name in locked(DEMO) for path in installed(name)) / 1e6
    assert 0.8 * int(said[2]) < taken + 25 < 1.1 * int(said[2])
    assert int(said[2]) <= 500


def installed(name: str) -> Iterator[Path]:
    """The files of a package that are there."""
    return (path for each in files(name) or () if (path := Path(str(each.locate()))).is_file())
