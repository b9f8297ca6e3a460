"""How the generated cases run: the same ones every time and few of them, or many in `make test-deep`."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("deep", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("DALENIUS_TESTS", "quick"))
