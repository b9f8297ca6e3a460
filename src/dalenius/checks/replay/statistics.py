"""Questions that no run of `check bounding` leaves to chance: every statistic, alone, in public groups and in found
ones, and a unit that moves each of them as far as is declared; and those along keys that several people may state, with
a victim whose keys all others state and a hub that states the keys of all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from dalenius.checks.replay.bounding import change, from_nobody
from dalenius.checks.replay.neighbours import NeighbourStep, steps
from dalenius.engines.conformance.comparing import Totals
from dalenius.engines.conformance.plans import Generated
from dalenius.engines.conformance.worlds import world
from dalenius.measuring.measurements import Measurement, lower
from dalenius.query.binding.binder import bind
from dalenius.query.sql.reader import read
from dalenius.query.tables import ContributionBounds

_WORLD = 0
"""Its people come and go, and its numbers have other ends than 0."""
_MOST = ContributionBounds(rows=7, groups=5)
"""One row, group or value of a unit would be too few to tell a bound of 1 from a right one."""
_STATISTICS = (
    "COUNT(*)", "COUNT(cost)", "COUNT(DISTINCT person)", "COUNT(DISTINCT icd)", "SUM(score)", "AVG(score)",
    "VARIANCE(cost)", "STDDEV(cost)", "COVAR_SAMP(cost, score)", "CORR(age, score)", "QUANTILE(score, 0.25)",
    "MODE(city)", "HISTOGRAM(city)", "ROBUST_QUANTILE(score, 0.25)", "ROBUST_TRIMMED_MEAN(score, 0.1)",
    "ROBUST_SCALE(score)", "STABLE_MODE(icd)", "STABLE_QUANTILE(score, 0.5)", "PROPOSED_QUANTILE(score, 0.5, 50)",
)  # fmt: skip
_ALL = ", ".join(f"{term} AS s{place}" for place, term in enumerate(_STATISTICS))
_ASKED = (
    "SELECT {} FROM visits",
    "SELECT city, {} FROM visits GROUP BY city",
    "SELECT icd, {} FROM visits GROUP BY icd",
    "SELECT AVG(score) AS s0, VARIANCE(cost) AS s1, STDDEV(age) AS s2 FROM visits",
    "SELECT city, AVG(cost) AS s0, STDDEV(score) AS s1 FROM visits GROUP BY city",
    "SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd ORDER BY n DESC LIMIT 2",
)
QUESTIONS = tuple(text.replace("{}", _ALL) for text in _ASKED)

_SHARING = 1
"""A world in which several people may state a key."""
_FEW_STATISTICS = ContributionBounds(rows=2, groups=3)
"""So few that what a unit gains does not make up for what several others lose."""
_ADDITIVE = (
    "COUNT(*)", "COUNT(amount)", "COUNT(DISTINCT person)", "COUNT(DISTINCT item)", "SUM(amount)", "AVG(amount)",
    "VARIANCE(amount)", "HISTOGRAM(city)",
)  # fmt: skip
_OF_LINES = ", ".join(f"{term} AS s{place}" for place, term in enumerate(_ADDITIVE))
_ALONG = (
    "SELECT {} FROM lines",
    "SELECT city, {} FROM lines GROUP BY city",
    "SELECT city, AVG(amount) AS s0 FROM lines GROUP BY city",
    "SELECT VARIANCE(amount) AS s0 FROM lines",
    "SELECT {} FROM (SELECT o.person, l.amount, l.item, l.city FROM lines l JOIN orders o ON l.number = o.number) t",
)
SHARED = tuple(text.replace("{}", _OF_LINES) for text in _ALONG)


def along_shared_keys() -> Iterator[Generated]:
    """The plans of questions along shared keys, numbered from 0 on."""
    here = world(_SHARING)
    for place, text in enumerate(SHARED):
        question = bind(read(text), here.tables, most=_FEW_STATISTICS)
        yield Generated(place, here, read(text), question, lower(question))


def each_statistic() -> Iterator[Generated]:
    """The plans of these questions, numbered from 0 on."""
    here = world(_WORLD)
    for place, text in enumerate(QUESTIONS):
        question = bind(read(text), here.tables, most=_MOST)
        yield Generated(place, here, read(text), question, lower(question))


def far(plan: Generated) -> list[NeighbourStep]:
    """A unit comes with more rows, groups and values than count, also with values that nobody else has, or with numbers
    that are all at one end."""
    mixed = [step for step in steps(plan.world) if step.name in ("add, light other", "one row per group")]
    return [*mixed, *from_nobody(plan, "people")]


def reached(plan: Generated, chosen: Sequence[NeighbourStep], found: Mapping[str, Sequence[Totals]]) -> list[Fraction]:
    """For each measurement, which part of what is declared a unit moves it by at most."""
    return [
        max(_share(part, found[step.before], found[step.after]) for step in chosen)
        for part in plan.program.measurements
    ]


def _share(part: Measurement, before: Sequence[Totals], after: Sequence[Totals]) -> Fraction:
    moved = [abs(size) for size in change(part, before, after).values()]
    declared = part.sensitivity
    pairs = ((sum(moved), declared.l1), (max(moved, default=0), declared.linf))
    return max(Fraction(far) / bound for far, bound in pairs if bound)
