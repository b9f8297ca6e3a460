"""Single releases beside the exact law: the very call that answers a question, where many samples are drawn at once.

What draws many samples at once (`audit.draws`) is not always a mechanism's own release, and few numbers are drawn by
other code than many are; this shows that both follow one law. Keys that are shown are also looked at in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from flint import arb
from scipy import special  # type: ignore[import-untyped]

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import price
from dalenius.audit.draws import KEYS, NOISE, SPARSE, at_once
from dalenius.mechanisms.key_selection import Key, KeyCounts
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import system_entropy
from dalenius.verify.cases.case import Case

RUNS = 2_000
"""How many single releases show noise that is missing; a tenth too little noise takes far more."""


def has_singles(case: Case) -> bool:
    """Whether samples of a case are drawn in another way than by one release after the other."""
    return at_once(case, case.at(Fraction(1))) is not None


def unlike_its_law(case: Case, epsilon: Fraction, value: Any, *, risk: Fraction, runs: int = RUNS) -> Iterator[str]:
    """Outcomes that come more or less often than the exact law of a value says, and keys that are out of order.

    Guarantee: if the release follows its law, there are any with probability at most `risk`: each count is binomial,
    and each of its two tails has an equal part of the risk.
    """
    mechanism = case.at(epsilon)
    yield from _out_of_order(case, mechanism)
    chances = _chances(case.law(mechanism, value))
    seen = Counter(_named(_single(case, mechanism, value), chances) for _ in range(runs))
    least = float(risk / (2 * len(chances)))
    for outcome, chance in chances.items():
        count = seen[outcome]
        if min(special.bdtr(count, runs, chance), special.bdtrc(count - 1, runs, chance) if count else 1) < least:
            yield f"{case}: {outcome} came {count} times in {runs} releases of {value}, by its law {runs * chance:.0f}"


_ORDERED: tuple[Key, ...] = (("a",), ("b",), ("é",), (None,))
_MANY = 100_000
"""So many units that a key is as good as always shown."""


def _out_of_order(case: Case, mechanism: Any) -> Iterator[str]:
    """Keys that are shown in another order than their own, which their counts would tell."""
    if not isinstance(mechanism, KEYS):
        return
    for order in permutations(range(len(_ORDERED))):
        counts = np.array([_MANY * (1 + place) for place in order], dtype=np.int64)
        for step in (1, -1):
            shown: Any = mechanism.release(KeyCounts(_ORDERED[::step], counts[::step]), system_entropy())
            if list(shown) != [key for key in _ORDERED if key in shown]:
                yield f"{case}: with counts of {counts.tolist()} the keys are shown in the order {list(shown)}"
                return


_OTHER = "anything else"


def _chances(law: Mapping[Hashable, arb]) -> dict[Hashable, float]:
    listed = {outcome: min(1.0, max(0.0, float(mass.mid()))) for outcome, mass in law.items()}
    rest = 1 - sum(listed.values())
    return listed | {_OTHER: rest if rest > 1e-12 else 0.0}


def _named(output: Hashable, chances: Mapping[Hashable, float]) -> Hashable:
    return output if output in chances else _OTHER


def _single(case: Case, mechanism: Any, value: Any) -> Any:
    if isinstance(mechanism, NOISE):
        told = np.asarray(mechanism.release(np.asarray(value), system_entropy())).tolist()
        return tuple(told) if isinstance(told, list) else told
    if isinstance(mechanism, KEYS):
        shown: Any = mechanism.release(value, system_entropy())
        return tuple(shown.items() if isinstance(shown, dict) else shown)
    if not isinstance(mechanism, SPARSE):
        return mechanism.release(value, system_entropy())
    paid = Allowance(price(mechanism.loss(sensitivity=case.sensitivity), order=None), neighbours=case.neighbours)
    session, answers = mechanism.start(paid, system_entropy()), list[int | None]()
    for number in value:
        if session.finished:
            break
        answer = session.ask(Exact(number, sensitivity=case.sensitivity, neighbours=case.neighbours), threshold=0)
        answers.append(int(answer) if answer is not None and answer is not False else None)
    return tuple(answers)
