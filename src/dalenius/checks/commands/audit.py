"""`dalenius check audit`: every public mechanism is run very often on its worst neighbours, and keeps its claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.sampling.black_boxes import BlackBox, black_boxes
from dalenius.checks.sampling.draws import NOISE, RUNS, drawn, has_singles, is_slow, unlike_its_law
from dalenius.checks.sampling.reporting import AuditReport, audit, tested_at
from dalenius.privacy.odds import bracket
from dalenius.process import cores
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES, EXCUSED, left_out

NAME = "audit"
SAMPLES = 100_000
EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))
FALSE_ALARMS = Fraction(1, 10**6)
"""Of the whole check, over all mechanisms and epsilons."""

TIGHT = ((1_000_000, Fraction(9, 10)), (100_000, Fraction(8, 10)))
"""How much of its claim a mechanism that attains it must show at epsilon 1, from so many samples on."""

FOR_NOISE = 100_000
"""How many samples mechanisms that add noise have from a tenth of them on: fewer do not show a halved deviation."""

LEAST = 1_000
"""How many samples mechanisms without an exact law have at least: fewer do not show one that tells all."""

_SLOW_SHARE = 100
_FEW_JOBS = 8
_PARTS = (Fraction(3, 5), Fraction(2, 5), Fraction(1, 5), Fraction(0))
_PLAIN = 0.01  # a gap that samples show


@dataclass(frozen=True)
class Audited:
    """One mechanism at one epsilon, with what was found; `attains` says that it is known to attain its claim, at the
    epsilon at which that is asked for."""

    name: str
    epsilon: Fraction
    report: AuditReport
    attains: bool = False

    @property
    def share(self) -> Fraction:
        """The bound as a part of the claim."""
        return self.report.epsilon / self.report.tested.epsilon

    def __str__(self) -> str:
        report = self.report
        return (
            f"{self.name} at {float(self.epsilon):g}: {report.verdict}, epsilon is at least "
            f"{float(report.epsilon):.4g} of {float(report.tested.epsilon):.4g}, {report.samples} samples, "
            f"event: {report.event}"
        )


def check(
    asked: CheckRequest,
    epsilons: Sequence[Fraction] = EPSILONS,
    cases: Sequence[Case] = CASES,
    boxes: Sequence[BlackBox] | None = None,
) -> Outcome:
    """Lower bounds on the epsilon of every mechanism, from samples alone: none is above its claim.

    Where samples are drawn in another way than by a mechanism's release, single releases are compared with its law.
    Slow mechanisms, which are run one by one, have all samples in their first case and a hundredth in the others; those
    that add noise to many numbers at once are quick, and have more. Those without an exact law, all where `boxes` are
    not named, have a hundredth.
    """
    samples, unlisted = asked.count or SAMPLES, black_boxes() if boxes is None else boxes
    risk = FALSE_ALARMS / 2 / ((len(cases) + len(unlisted)) * len(epsilons))
    boxed = list(tried(unlisted, epsilons, max(LEAST, samples // _SLOW_SHARE), risk))
    listed = list(audited(asked, cases, epsilons, samples, risk))
    found = [*listed, *boxed]
    unlike = list(_unlike(cases, Fraction(1) if 1 in epsilons else epsilons[0], samples))
    figures = [_missing(), *(_figure(listed, epsilon) for epsilon in epsilons if listed), *_boxes(boxed, epsilons)]
    figures += _singles(cases, samples, unlike)
    goal = next((share for least, share in TIGHT if samples >= least), None)
    tight = [one for one in found if one.attains and one.report.samples >= samples]
    if tight and goal:
        figures.append(_tightness(tight, goal))
    return Outcome(NAME, tuple(figures), (*(str(one) for one in found if one.report.refuted), *unlike))


def audited(
    asked: CheckRequest, cases: Sequence[Case], epsilons: Sequence[Fraction], samples: int, risk: Fraction
) -> Iterable[Audited]:
    """Each case at each epsilon, on the pair that is easiest to tell apart."""
    sizes = _sizes(cases, samples)
    done, total = 0, sum(sizes) * len(epsilons)
    for epsilon in epsilons:
        for case, size in zip(cases, sizes, strict=True):
            first, second = worst_pair(case, epsilon)
            report = _report(case, epsilon, first, second, size, 1 - risk)
            yield Audited(str(case), epsilon, report, attains=case.tight and case.pure and epsilon == 1)
            done += size
            asked.tick(100 * done / total)


def tried(boxes: Sequence[BlackBox], epsilons: Sequence[Fraction], samples: int, risk: Fraction) -> Iterable[Audited]:
    """Each mechanism without an exact law at each epsilon, spread over processes."""
    jobs = [(black_boxes().index(box), epsilon, samples, risk) for box in boxes for epsilon in epsilons]
    if cores() == 1 or len(jobs) < _FEW_JOBS:
        return list(map(_tried, jobs))
    with ProcessPoolExecutor(max_workers=cores()) as pool:
        return list(pool.map(_tried, jobs))


def _tried(job: tuple[int, Fraction, int, Fraction]) -> Audited:
    place, epsilon, samples, risk = job
    box = black_boxes()[place]
    trial = box.at(epsilon)
    report = audit(
        trial.released, trial.first, trial.second,
        claim=trial.claim, samples=samples, confidence=1 - risk, vectorised=False,
    )  # fmt: skip
    return Audited(str(box), epsilon, report)


def worst_pair(case: Case, epsilon: Fraction) -> tuple[Any, Any]:
    """The neighbours whose exact laws lie furthest apart beyond a part of the claim: the easiest ones to tell apart."""
    point = tested_at(case.claim(epsilon))
    laws = {value: _floats(law) for value, law in case.tables(epsilon).items()}
    directed = [pair for x, y in case.pairs for pair in ((x, y), (y, x))]
    best, largest = directed[0], 0.0
    for part in _PARTS:
        odds = float(bracket(point.epsilon * part)[1])
        gaps = [_gap(laws[first], laws[second], odds) for first, second in directed]
        if max(gaps) > largest:
            best, largest = directed[gaps.index(max(gaps))], max(gaps)
        if largest > _PLAIN:
            break
    return best


def _gap(first: dict[Any, float], second: dict[Any, float], odds: float) -> float:
    return sum(max(0.0, mass - odds * second.get(outcome, 0.0)) for outcome, mass in first.items())


def _report(case: Case, epsilon: Fraction, first: Any, second: Any, size: int, confidence: Fraction) -> AuditReport:
    def release(value: Any, size: int) -> Any:
        return drawn(case, epsilon, value, size, workers=cores())

    return audit(
        release, first, second, claim=case.claim(epsilon), samples=size, confidence=confidence, vectorised=True
    )


def _sizes(cases: Sequence[Case], samples: int) -> list[int]:
    sizes, begun = [], set()
    for case in cases:
        kind = type(case.at(Fraction(1)))
        usual = max(samples, FOR_NOISE) if issubclass(kind, NOISE) and samples >= FOR_NOISE // 10 else samples
        sizes.append(max(4, samples // _SLOW_SHARE) if is_slow(case) and kind in begun else usual)
        begun.add(kind)
    return sizes


def _unlike(cases: Sequence[Case], epsilon: Fraction, samples: int) -> Iterator[str]:
    """Single releases that do not follow the exact law, on both neighbours."""
    compared = [case for case in cases if has_singles(case)]
    for case in compared:
        for value in worst_pair(case, epsilon):
            risk = FALSE_ALARMS / 2 / (2 * len(compared))
            yield from unlike_its_law(case, epsilon, value, risk=risk, runs=_single_runs(samples))


def _single_runs(samples: int) -> int:
    return max(100, min(RUNS, samples // 10))


def _singles(cases: Sequence[Case], samples: int, unlike: Sequence[str]) -> Iterator[Figure]:
    compared = sum(has_singles(case) for case in cases)
    if compared:
        what = f"mechanisms of which {_single_runs(samples):,} single releases a side were beside their exact law"
        yield Figure(what, compared, f"{len(unlike)} outcomes too often or too rarely", "0", not unlike)


def _missing() -> Figure:
    missing = sorted(kind.__name__ for kind in left_out())
    missing += sorted(EXCUSED.keys() - {box.name for box in black_boxes()})
    kinds = len({type(case.at(Fraction(1))) for case in CASES})
    found = ", ".join(missing) or f"none left out; {kinds} with an exact law, {len(EXCUSED)} without"
    return Figure("mechanisms", kinds + len(EXCUSED), found, "all", not missing)


def _boxes(boxed: Sequence[Audited], epsilons: Sequence[Fraction]) -> Iterator[Figure]:
    if boxed:
        above, largest = sum(one.report.refuted for one in boxed), max(boxed, key=lambda one: one.share)
        at = ", ".join(f"{float(epsilon):g}" for epsilon in epsilons)
        what = f"mechanisms without an exact law, at epsilon {at}, {boxed[0].report.samples:,} samples a side"
        said = f"{above} above the claim; largest bound {float(largest.share):.3f} of it ({largest.name})"
        yield Figure(what, len({one.name for one in boxed}), said, "0 above", not above)


def _figure(found: Sequence[Audited], epsilon: Fraction) -> Figure:
    here = [one for one in found if one.epsilon == epsilon]
    above = [one for one in here if one.report.refuted]
    largest = max(here, key=lambda one: one.share)
    sizes = [one.report.samples for one in here]
    fewer = sum(size < max(sizes) for size in sizes)
    slow = f" ({fewer} slower ones: {min(sizes):,} or more)" if fewer else ""
    sure = f"false alarms below {float(FALSE_ALARMS):.0e} in all (each test {float(1 - here[0].report.confidence):.1e})"
    return Figure(
        f"mechanisms audited at epsilon {float(epsilon):g}, {max(sizes):,} samples a side{slow}",
        len(here),
        f"{len(above)} above the claim; largest bound {float(largest.share):.3f} of it ({largest.name})",
        f"0 above, {sure}",
        not above,
    )


def _tightness(tight: Sequence[Audited], goal: Fraction) -> Figure:
    least = min(tight, key=lambda one: one.share)
    return Figure(
        "tight mechanisms at epsilon 1",
        len(tight),
        f"least bound {float(least.share):.3f} of the claim ({least.name})",
        f"at least {float(goal):g} of the claim",
        least.share >= goal,
    )


def _floats(law: dict[Any, Any]) -> dict[Any, float]:
    return {outcome: float(mass.mid()) for outcome, mass in law.items()}
