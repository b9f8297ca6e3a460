"""How the generated cases run: the same ones every time and few of them, or many in `make test-deep`.

High-water marks of the tests' databases lie in a folder that goes with the tests, not among the user's own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from hypothesis import settings

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("deep", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("DALENIUS_TESTS", "quick"))

_STATE = tempfile.mkdtemp(prefix="dalenius-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _STATE
