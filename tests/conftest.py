"""Which tests run, by what they cost, and how the generated cases run.

A test's folder says its cost: `tests/full`, `tests/deep`, or fast. One dear case of a fast test bears a mark instead,
`pytest.param("spark", marks=pytest.mark.full)`; without DALENIUS_TESTS it is left out. DALENIUS_TESTS=full runs what is
full and nothing else, DALENIUS_TESTS=deep everything, with many generated cases in place of the same few.

High-water marks of the tests' databases lie in a folder that goes with the tests, not among the user's own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from costs import runs

CHOSEN = os.environ.get("DALENIUS_TESTS", "")
settings.register_profile("few", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("deep", max_examples=1000, deadline=None)
settings.load_profile("deep" if CHOSEN == "deep" else "few")

_STATE = tempfile.mkdtemp(prefix="dalenius-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _STATE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    kept, left = [], []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        (kept if runs(marks, item.path.relative_to(here).parts[0], CHOSEN) else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)
