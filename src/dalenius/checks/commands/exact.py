"""`check exact`: what every mechanism claims, computed from its exact law on all neighbours of small cases.

Nothing is sampled, so it shows what audits cannot: a small delta, a divergence, a loss that is a little too low.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import TypeAlias

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.process import cores
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES

NAME = "exact"
EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(3))
ROUNDING = Fraction(1, 10**9)
"""By how much a claim may be exceeded: masses are enclosures, which cannot decide a bound that is met exactly."""
_FEW = 8

Verdict: TypeAlias = bool | None


def check(asked: CheckRequest, cases: Sequence[Case] = CASES) -> Outcome:
    """Every case at the first so many epsilons: no claim is refuted by the exact laws."""
    epsilons = EPSILONS[: asked.count or 1]
    jobs = [(CASES.index(case), epsilon) for epsilon in epsilons for case in cases]
    found = dict[tuple[int, Fraction], Verdict]()
    for job, verdict in zip(jobs, _verdicts(jobs), strict=True):
        found[job] = verdict
        asked.tick(100 * len(found) / len(jobs))
    said = [
        f"{CASES[place]} at {float(epsilon):g}: its exact law refutes its claim" for place, epsilon in _false(found)
    ]
    return Outcome(NAME, tuple(_figure(epsilon, found) for epsilon in epsilons), tuple(said))


def holds(case: Case, epsilon: Fraction) -> Verdict:
    """Whether a claim is true by the exact law: proved, refuted, or neither."""
    return case.checked(epsilon).holds(case.claim(epsilon), tolerance=ROUNDING)


def _verdicts(jobs: Sequence[tuple[int, Fraction]]) -> Iterator[Verdict]:
    if cores() == 1 or len(jobs) < _FEW:
        yield from map(_verdict, jobs)
    else:
        with ProcessPoolExecutor(max_workers=cores()) as pool:
            yield from pool.map(_verdict, jobs)


def _verdict(job: tuple[int, Fraction]) -> Verdict:
    place, epsilon = job
    return holds(CASES[place], epsilon)


def _false(found: dict[tuple[int, Fraction], Verdict]) -> Iterator[tuple[int, Fraction]]:
    return (job for job, verdict in found.items() if verdict is False)


def _figure(epsilon: Fraction, found: dict[tuple[int, Fraction], Verdict]) -> Figure:
    verdicts = Counter(verdict for (_, at), verdict in found.items() if at == epsilon)
    return Figure(
        f"mechanisms and kinds of values, at epsilon {float(epsilon):g}",
        verdicts.total(),
        f"{verdicts[True]} claims proved, {verdicts[None]} met as far as computed, {verdicts[False]} refuted",
        "0 refuted",
        not verdicts[False],
    )
