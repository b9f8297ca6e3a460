"""`check semantics`: the embedded engine means what plans and expressions mean, compared with the reference."""

from __future__ import annotations

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.engines.conformance.checking import check as conforms
from dalenius.engines.conformance.comparing import CheckedEngine
from dalenius.engines.duckdb.engine import DuckDBEngine

EXPRESSIONS = 2_000
_ROWS, _EXPRESSIONS_PER_PLAN = 2_000, 10


def check(asked: CheckRequest) -> Outcome:
    """So many random expressions, and a plan for every ten of them, over rows at which engines differ."""
    engine = DuckDBEngine()
    try:
        return compared(engine, asked)
    finally:
        engine.close()


def compared(engine: CheckedEngine, asked: CheckRequest) -> Outcome:
    """The same for any engine that holds no table of its own."""
    number = asked.count or EXPRESSIONS
    plans = max(1, number // _EXPRESSIONS_PER_PLAN)
    report = conforms(engine, expressions=number, rows=_ROWS, plans=plans, seed=asked.seed, tick=asked.tick)
    found = len(report.differences)
    again = f"dalenius check semantics --count {number} --seed {asked.seed}"
    compared_in = {
        "functions at their edges": report.cases,
        "random expressions": report.expressions,
        "random plans": report.plans,
    }
    tried = [Figure(what, size, "compared", "some", size > 0) for what, size in compared_in.items()]
    differing = Figure("differences from the definition", sum(compared_in.values()), str(found), "0", report.passed)
    return Outcome("semantics", (*tried, differing), tuple(f"{said} ({again})" for said in report.differences))
