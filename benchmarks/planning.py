"""How long it takes from the text of a question to its price, on a declared table without any rows."""

from __future__ import annotations

import statistics
import time

from benchmarks.queries import EVENTS
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.measuring.pricing import priced
from dalenius.query.binding.binder import bind
from dalenius.query.sql.reader import read

QUESTIONS = {
    "count and mean per key": "SELECT city, COUNT(*) AS n, AVG(amount) AS amount FROM events "
    "WHERE day >= DATE '2025-01-01' GROUP BY city",
    "a mean per unit": "SELECT AVG(total) FROM (SELECT user_id, SUM(amount) AS total FROM events GROUP BY user_id)",
    "unknown keys": "SELECT product, COUNT(*) AS n FROM events GROUP BY product",
    "a median": "SELECT MEDIAN(amount) FROM events",
}
ROUNDS = 20


def measured() -> dict[str, float]:
    """The median seconds of each question."""
    return {name: statistics.median(_planned(text) for _ in range(ROUNDS)) for name, text in QUESTIONS.items()}


def _planned(text: str) -> float:
    renyi_filter = RenyiFilter.of(Budget(3, "1e-9"))
    start = time.perf_counter()
    question = bind(read(text), {"events": EVENTS})
    priced(question, amounts={"users": renyi_filter.amount(epsilon="0.2")})
    return time.perf_counter() - start
