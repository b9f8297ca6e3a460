"""The dear tests of `unit/sandbox/test_sandbox.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalenius.sandbox import confinement
from dalenius.sandbox.functions import MODULES
from tests.unit.sandbox import test_sandbox
from tests.unit.sandbox.test_sandbox import GRID, PATIENT, program, run

pytestmark = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")
_no_padding = test_sandbox._no_padding


@pytest.mark.textbook("S11.2")
def test_all_modules_that_a_program_may_import_can_be_had(tmp_path: Path) -> None:
    text = "".join(f"import {module}\n" for module in sorted(MODULES)) + "def one(rows):\n    return 1\n"
    assert run(program(tmp_path, text, "one", *sorted(MODULES)), [[3]], GRID, PATIENT) == [(1,)]
