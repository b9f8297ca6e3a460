"""Fits on neighbours, recorded and replayed: all that a fitted model holds must follow from what was released."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.audit.replay.recording import Call
from dalenius.audit.replay.replaying import Finding, Replayed, replay
from dalenius.audit.training.arrays import Arrays, Pair
from dalenius.audit.training.forms import Form
from dalenius.audit.training.tables import EPSILON, Tables
from dalenius.curator.databases import Database
from dalenius.learn.budgets import budget_of, rectangle_of
from dalenius.learn.linear.batches import BatchGradient
from dalenius.learn.rows import Entries
from dalenius.query.frames.frames import Frame
from dalenius.query.tables import Most


def facts(model: Any) -> dict[str, Any]:
    """Everything that a fitted model holds, shown or not, but for the number of its receipt."""
    held = dict(vars(model))
    guarantee = held.pop("guarantee_")
    if "best_estimator_" in held:
        held["best_estimator_"] = facts(held["best_estimator_"])
    return {**held, "loss": guarantee.loss, "neighbours": guarantee.neighbours}


def parts_too_long(calls: Iterable[Call]) -> Iterator[Finding]:
    """Rows that add more to the gradient of a batch than its price is for, each row by itself.

    A batch is drawn inside of the mechanism, so its input is the rows: that one more row comes is all that is seen.
    """
    for place, call in enumerate(calls):
        if isinstance(call.mechanism, BatchGradient):
            paid, rows = call.mechanism.part_squared, call.value.entries
            longest = max((_squared(call.mechanism, rows, row) for row in range(len(rows))), default=0)
            if longest > paid:
                said = f"a row adds {longest} to call {place} ({type(call.mechanism).__name__}), paid for was {paid}"
                yield Finding("sensitivity", said, place, "l2_squared", longest, paid)


def _squared(mechanism: BatchGradient, rows: Entries, row: int) -> int:
    alone = Entries(rows.features[[row]], rows.target[[row]], np.ones(1, dtype=np.int64))
    return int((mechanism.gradient(alone).astype(object) ** 2).sum())


def _whole(found: Replayed) -> Replayed:
    """With what the calls show by themselves; they are those on the neighbour that has the row that hurts."""
    return replace(found, findings=(*found.findings, *parts_too_long(found.calls)))


def on_arrays(form: Form, pair: Pair, **way: Any) -> Replayed:
    """A fit on two arrays, each after the other with the outputs of the first handed back."""

    def run(rows: Arrays) -> Any:
        model, told = form.made(**way), list[float]()
        more = {"progress": told.append} if hasattr(model, "save") else {}
        return facts(model.fit(*rows.given(form.learns), **more)), told

    paid = form.made(**way)
    base = getattr(paid, "estimator", paid)
    cap = None if form.free else rectangle_of(budget_of(base.epsilon, base.delta, base.budget)).cap
    return _whole(replay(run, pair.second, pair.first, charged=cap))


def on_tables(form: Form, tables: Tables) -> Replayed:
    """A fit on two private tables, charged to both ledgers, on the way that all fits take."""
    assert form.table is not None
    target, columns = form.table

    def rows(db: Database) -> Frame:
        return db.table("visits").contributing(Most(rows=form.rows_of_unit, groups=1))

    def run(db: Database) -> dict[str, Any]:
        return facts(form.for_tables(epsilon=EPSILON).fit(rows(db), target, columns=list(columns), fresh=True))

    _, training = form.for_tables(epsilon=EPSILON)._planned(rows(tables.before), target, columns=list(columns))
    return _whole(replay(run, tables.after, tables.before, charged=list(training.charge.values())))
