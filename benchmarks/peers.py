"""Other libraries, installed into a virtual environment of their own and measured in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.draws import three_digits

HOME = Path(__file__).resolve().parents[1] / ".bench"
# diffprivlib 0.6 does not load with scikit-learn 1.6 and later.
PACKAGES = ["opendp>=0.14", "diffprivlib>=0.6.6", "scikit-learn<1.6"]


def measure() -> dict[str, Any]:
    """Rates by library, or an empty table with a message if they cannot be installed."""
    try:
        python = environment("venv", PACKAGES)
        worker = Path(__file__).with_name("peer_draws.py")
        result = subprocess.run([python, str(worker)], capture_output=True, check=True, text=True)
        return dict(json.loads(result.stdout))
    except (subprocess.CalledProcessError, OSError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        print(f"OpenDP and diffprivlib are left out, because they could not be installed or run:\n{reason[-600:]}")
        return {}


def environment(name: str, packages: Sequence[str]) -> str:
    """The Python of a virtual environment with these packages, which is made where it does not exist yet."""
    home = HOME / name
    python, ready = home / "bin" / "python", home / ".ready"
    if not ready.exists():
        print(f"Installing {', '.join(packages)} into {home} ...")
        subprocess.run([sys.executable, "-m", "venv", str(home)], capture_output=True, check=True, text=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run(pip, capture_output=True, check=True, text=True)
        ready.touch()
    return str(python)


def rate(peers: dict[str, Any], library: str, law: str, scale: int, kind: str) -> float | None:
    """Draws per second of one library in three digits, or None where it was not measured."""
    found = peers.get(library, {}).get("rates", {}).get(f"{law} {scale}", {}).get(kind)
    return None if found is None else three_digits(found)
