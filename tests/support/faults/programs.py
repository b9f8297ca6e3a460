"""Starting the programs of this folder, warm, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SUPPORT = Path(__file__).parent.parent


def command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"faults.{module}", *arguments]


def surroundings() -> dict[str, str]:
    paths = [str(_SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@contextmanager
def killer() -> Iterator[Killer]:
    """A warm process that forks children which are killed."""
    with subprocess.Popen(
        command("killed"), env=surroundings(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        yield Killer(running)
        assert running.stdin
        running.stdin.close()


class Killer:
    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running

    def killed(self, **order: Any) -> dict[str, Any]:
        """What a child had handed out when it was killed, or ended."""
        assert self._running.stdin
        assert self._running.stdout
        self._running.stdin.write(json.dumps(order) + "\n")
        self._running.stdin.flush()
        told: dict[str, Any] = json.loads(self._running.stdout.readline())
        return told
