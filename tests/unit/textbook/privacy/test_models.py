"""The settings are distinct interfaces, synopses answer without the data, and labels are no losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest

from checks import SeededEntropy
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import compose
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import Loss, PureDP
from dalenius.privacy.neighbours import AddRemove
from dalenius.textbook.privacy.models import (
    ComputationalDP,
    Continual,
    Interactive,
    Local,
    NonInteractive,
    PanPrivate,
    RandomBits,
    SecureEvaluation,
    Synopsis,
    SyntheticDatabase,
    synopsis_error,
)
from dalenius.textbook.privacy.queries import LinearQuery, intervals

MODELS = (NonInteractive, Interactive, Local, Continual, PanPrivate, SecureEvaluation)


class PublishedBit:
    def publish(self, database: int, entropy: RandomBits, /) -> int:
        return database ^ (entropy.below(4) == 0)


class AnsweredBit:
    def answer(self, query: int, /) -> int:
        return query


class OwnBit:
    def report(self, record: int, entropy: RandomBits, /) -> int:
        return record ^ (entropy.below(4) == 0)


class RunningCount:
    def __init__(self) -> None:
        self.count = 0

    def step(self, item: int, /) -> int:
        self.count += item
        return self.count


class SeizableCount:
    def __init__(self) -> None:
        self.count = 0

    def update(self, item: int, /) -> None:
        self.count += item

    def output(self) -> int:
        return self.count

    def state(self) -> bytes:
        return self.count.to_bytes(8, "little")


class SharedSum:
    """Additive shares modulo 2^16 for two parties; one of them alone sees a uniform number."""

    collusion = 1

    def shares(self, record: int, entropy: RandomBits, /) -> Sequence[int]:
        mask = entropy.bits(16)
        return mask, (record - mask) % 2**16

    def combine(self, shares: Sequence[Sequence[int]], /) -> int:
        return sum(map(sum, shares)) % 2**16


EXAMPLES = (PublishedBit(), AnsweredBit(), OwnBit(), RunningCount(), SeizableCount(), SharedSum())


@pytest.mark.textbook("S1.4")
def test_each_setting_is_an_interface_of_its_own() -> None:
    fits = [[isinstance(example, model) for model in MODELS] for example in EXAMPLES]
    assert fits == [[row == column for column in range(len(MODELS))] for row in range(len(MODELS))]


@pytest.mark.textbook("S1.4")
def test_random_bits_are_what_an_entropy_source_offers() -> None:
    evaluation: SecureEvaluation[int, int, int] = SharedSum()
    local: Local[int, int] = OwnBit()
    source = SeededEntropy("models")
    assert evaluation.combine([evaluation.shares(record, source) for record in (3, 4, 5)]) == 12
    assert {local.report(1, source) for _ in range(50)} == {0, 1}


@pytest.mark.textbook("S1.5")
def test_a_synthetic_database_answers_by_its_own_rows_scaled_by_n_over_m() -> None:
    queries = intervals(range(4))
    database = Counter({0: 10, 1: 20, 2: 30, 3: 40})
    faithful = SyntheticDatabase({0: 1, 1: 2, 2: 3, 3: 4}, represents=Fraction(100))
    assert isinstance(faithful, Synopsis)
    assert synopsis_error(faithful, queries.queries, database) == 0
    unscaled = SyntheticDatabase({0: 1, 1: 2, 2: 3, 3: 4}, represents=Fraction(10))
    assert synopsis_error(unscaled, queries.queries, database) == 90
    skewed = SyntheticDatabase({0: 1}, represents=Fraction(100))
    assert synopsis_error(skewed, queries.queries, database) == 90


@pytest.mark.textbook("S1.5")
def test_a_synopsis_need_not_be_a_database() -> None:
    class Remembered:
        def estimate(self, query: LinearQuery, /) -> Fraction:
            return {"[0, 0]": Fraction(9), "[0, 1]": Fraction(31)}[query.name]

    chosen = [query for query in intervals(range(2)) if query.name in ("[0, 0]", "[0, 1]")]
    assert synopsis_error(Remembered(), chosen, Counter({0: 10, 1: 20})) == 1


def test_an_empty_synthetic_database_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="at least one synthetic row"):
        SyntheticDatabase({0: 0}, represents=Fraction(10))


@pytest.mark.textbook("S1.10")
def test_computational_privacy_is_a_label_that_no_account_accepts() -> None:
    label = ComputationalDP(epsilon="0.5", assumption="the hardness of factoring")
    assert not isinstance(label, Loss)
    ledger = PrivacyFilter(Budget(100), neighbours=AddRemove())
    for account in (lambda: compose([PureDP(Fraction(1)), label]), lambda: ledger.charge(label)):  # type: ignore
        with pytest.raises(InvalidParameter, match="a loss such as PureDP"):
            account()
    assert not ledger.spent
    assert str(label) == "computational epsilon = 0.5, if the hardness of factoring holds; not testable"
    with pytest.raises(InvalidParameter):
        ComputationalDP(epsilon=-1, assumption="x")
    with pytest.raises(InvalidParameter, match="hardness assumption"):
        ComputationalDP(epsilon=1, assumption="")
