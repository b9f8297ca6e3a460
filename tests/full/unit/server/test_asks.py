"""The dear tests of `unit/server/test_asks.py`."""

from __future__ import annotations

import subprocess
import sys


def test_the_front_process_does_not_even_load_the_engine() -> None:
    code = "import sys, dalenius.server.serving; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
