"""The fixtures of the fast tests of this room."""

from __future__ import annotations

from tests.unit.textbook.release.conftest import broken_too_often, paid, sealed

__all__ = ["broken_too_often", "paid", "sealed"]
