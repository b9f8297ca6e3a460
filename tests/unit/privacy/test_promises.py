"""Statements say what is promised and what is not, and dangerous deltas are called so."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dalenius.errors import InvalidParameter, MissingNeighbours
from dalenius.privacy.divergences import Distribution, is_private
from dalenius.privacy.group import EXPOSED, default_delta, delta_warning, statement
from dalenius.privacy.losses import ZCDP, ApproximateDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Replace


@pytest.mark.textbook("S1.13")
@pytest.mark.parametrize("loss", [PureDP(Fraction(1, 2)), ApproximateDP("0.5", "1e-9"), ZCDP(Fraction(1, 8))])
def test_every_statement_covers_risks_side_knowledge_and_limits(loss: Loss) -> None:
    text = statement(loss, AddRemove())
    promised, rest = " ".join(text.promised), " ".join(text.not_promised)
    for subject in ("every harm", "other databases", "done with the release afterwards", "Groups", str(loss)):
        assert subject in promised
    for subject in ("smoking causes cancer", "whether or not they took part", "public already"):
        assert subject in rest
    assert str(text).splitlines()[0] == "What is promised:"
    assert all(f"- {line}" in str(text) for line in (*text.promised, *text.not_promised))


@pytest.mark.textbook("S1.13")
def test_only_losses_that_are_not_pure_warn_of_rare_events_and_alternatives_fixed_beforehand() -> None:
    weak = ("small probability", "any one alternative that is fixed beforehand")
    pure = " ".join(statement(PureDP(Fraction(1)), AddRemove()).not_promised)
    approximate = " ".join(statement(ApproximateDP(1, "1e-9"), AddRemove()).not_promised)
    assert all(words in approximate and words not in pure for words in weak)


@pytest.mark.textbook("S1.13")
@pytest.mark.parametrize(("epsilon", "factor"), [(0, "1"), ("0.5", "1.649"), (1, "2.719"), (1000, "1.971E+434")])
def test_a_pure_statement_gives_e_to_the_epsilon_rounded_up(epsilon: str, factor: str) -> None:
    assert f"more than {factor} times likelier" in statement(PureDP(epsilon), AddRemove()).promised[0]


@pytest.mark.textbook("S1.13")
def test_a_statement_names_what_is_hidden() -> None:
    assert "whether a person is in the data" in str(statement(PureDP(Fraction(1)), AddRemove()))
    assert "what a person says" in str(statement(PureDP(Fraction(1)), Replace()))
    assert "whether an event is in the data" in str(statement(PureDP(Fraction(1)), AddRemove("event")))
    with pytest.raises(MissingNeighbours):
        statement(PureDP(Fraction(1)), None)


@pytest.mark.textbook("S1.3")
def test_a_delta_of_one_over_n_allows_publishing_somebody_whole() -> None:
    """Publish a random one of n records, or nothing in its place: (0, 1/n)-DP, and one record is out each time."""
    people = 50
    with_ann = Distribution.uniform([*range(people - 1), "ann"])
    without = Distribution.uniform([*range(people - 1), "nobody"])
    assert is_private(with_ann, without, epsilon=0, delta=Fraction(1, people))
    assert "complete records of 1 of them" in delta_warning(delta=Fraction(1, people), size=people)


@pytest.mark.textbook("S1.3")
@pytest.mark.parametrize("size", [1, 100, 300_000_000])
def test_the_default_delta_is_sensible_and_falls_with_the_security_parameter(size: int) -> None:
    assert delta_warning(delta=default_delta(size=size), size=size) == ""
    assert default_delta(size=size) < Fraction(1, 10**5 * size)
    assert default_delta(size=size, security=40) * 2**20 == default_delta(size=size, security=20)


@pytest.mark.textbook("S1.3")
def test_the_warning_starts_where_it_says() -> None:
    edge = EXPOSED / 1000
    assert delta_warning(delta=edge, size=1000) == ""
    text = delta_warning(delta=edge * Fraction(1001, 1000), size=1000)
    assert "Use at most 1e-06" in text
    assert "default_delta(size=1000)" in text
    with pytest.raises(InvalidParameter):
        delta_warning(delta=1, size=1000)
