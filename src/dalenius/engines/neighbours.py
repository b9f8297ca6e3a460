"""The neighbour relation of a pass."""

from __future__ import annotations

from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.query.plan.passes import Pass


def neighbours(step: Pass) -> Neighbours:
    """The one neighbour relation of the tables that a pass reads."""
    found = {table.name: table.protection.neighbours for table in step.child.tables if table.protection}
    require_same(**found)
    return next(iter(found.values()))
