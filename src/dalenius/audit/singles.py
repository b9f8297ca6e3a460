"""Single releases beside the exact law: the very call that answers a question, where many samples are drawn otherwise.

What draws many samples at once (`audit.draws`) is not always a mechanism's own release; this shows that both are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from flint import arb
from scipy import special  # type: ignore[import-untyped]

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import price
from dalenius.audit.draws import SPARSE, runs_its_own_release
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import system_entropy
from dalenius.verify.cases.case import Case

RUNS = 2_000
"""How many single releases show noise that is missing; a tenth too little noise takes far more."""


def has_singles(case: Case) -> bool:
    """Whether samples of a case are drawn in another way than by its release."""
    return not runs_its_own_release(case, case.at(Fraction(1)))


def unlike_its_law(case: Case, epsilon: Fraction, value: Any, *, risk: Fraction, runs: int = RUNS) -> Iterator[str]:
    """Outcomes that come more or less often than the exact law of a value says.

    Guarantee: if the release follows its law, there are any with probability at most `risk`: each count is binomial,
    and each of its two tails has an equal part of the risk.
    """
    mechanism = case.at(epsilon)
    chances = _chances(case.law(mechanism, value))
    seen = Counter(_named(_single(case, mechanism, value), chances) for _ in range(runs))
    least = float(risk / (2 * len(chances)))
    for outcome, chance in chances.items():
        count = seen[outcome]
        if min(special.bdtr(count, runs, chance), special.bdtrc(count - 1, runs, chance) if count else 1) < least:
            yield f"{case}: {outcome} came {count} times in {runs} releases of {value}, by its law {runs * chance:.0f}"


_OTHER = "anything else"


def _chances(law: Mapping[Hashable, arb]) -> dict[Hashable, float]:
    listed = {outcome: min(1.0, max(0.0, float(mass.mid()))) for outcome, mass in law.items()}
    rest = 1 - sum(listed.values())
    return listed | {_OTHER: rest if rest > 1e-12 else 0.0}


def _named(output: Hashable, chances: Mapping[Hashable, float]) -> Hashable:
    return output if output in chances else _OTHER


def _single(case: Case, mechanism: Any, value: Any) -> Any:
    if not isinstance(mechanism, SPARSE):
        return mechanism.release(value, system_entropy())
    paid = Allowance(price(mechanism.loss(sensitivity=case.sensitivity), order=None), neighbours=case.neighbours)
    session, told = mechanism.start(paid, system_entropy()), list[int | None]()
    for number in value:
        if session.finished:
            break
        answer = session.ask(Exact(number, sensitivity=case.sensitivity, neighbours=case.neighbours), threshold=0)
        told.append(int(answer) if answer is not None and answer is not False else None)
    return tuple(told)
