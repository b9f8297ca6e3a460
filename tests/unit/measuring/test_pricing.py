"""What a question costs: split, mechanisms, charges; all from public facts."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from binding import ask
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.measuring import choosing
from dalenius.measuring.measurements import SplitSums
from dalenius.measuring.pricing import Priced, priced
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.order_statistics import SmoothQuantile
from dalenius.mechanisms.robust.stable_answers import StableMode
from dalenius.mechanisms.selection.top_k import TopK
from dalenius.query.sql.names import AGGREGATES
from dalenius.query.tables import ContributionBounds

APPROXIMATE = RenyiFilter.of(Budget(3, "1e-9"))
PURE = RenyiFilter.of(Budget(3))


def at(sql: str, renyi_filter: RenyiFilter = APPROXIMATE, *, epsilon: str = "0.5", **options: object) -> Priced:
    question = ask(sql)
    amounts = {name: renyi_filter.amount(epsilon=epsilon) for name in question.relation.populations}
    return priced(question, amounts=amounts, **options)  # type: ignore[arg-type]


QUESTIONS = [
    "SELECT COUNT(*) FROM visits",
    "SELECT city, COUNT(*), AVG(cost), SUM(age) FROM visits GROUP BY city",
    "SELECT VARIANCE(cost), CORR(age, cost) FROM visits",
    "SELECT MEDIAN(cost), QUANTILE(cost, 0.9) FROM visits",
    "SELECT MODE(city), HISTOGRAM(city) FROM visits",
    "SELECT city, COUNT(*) FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 2",
]
UNKNOWN_KEYS = [
    "SELECT icd, COUNT(*) FROM visits GROUP BY icd",
    "SELECT icd, COUNT(DISTINCT patient_id) FROM visits GROUP BY icd",
    "SELECT icd, COUNT(*) FROM visits GROUP BY icd ORDER BY COUNT(*) DESC LIMIT 5",
]


@pytest.mark.parametrize("sql", [*QUESTIONS, *UNKNOWN_KEYS])
def test_what_is_charged_fits_the_offer_and_uses_nearly_all_of_it(sql: str) -> None:
    offered = APPROXIMATE.amount(epsilon="0.5")
    price = at(sql)
    (charge,) = price.charge.values()
    assert charge <= offered
    assert charge.divergence > 0.99 * offered.divergence


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_pure_budget_is_charged_pure_losses(sql: str) -> None:
    (charge,) = at(sql, PURE).charge.values()
    assert charge.order is None
    assert charge.delta == 0
    assert charge <= PURE.amount(epsilon="0.5")


@pytest.mark.parametrize("sql", UNKNOWN_KEYS)
def test_unknown_keys_need_a_delta(sql: str) -> None:
    with pytest.raises(QueryRefused, match="nothing was read or spent"):
        at(sql, PURE)


def test_the_charge_is_the_price_of_every_step() -> None:
    price = at(QUESTIONS[1])
    (charge,) = price.charge.values()
    assert charge.divergence == sum(next(iter(step.charge.values())).divergence for step in price.steps)


def test_measurements_get_equal_prices() -> None:
    price = at(QUESTIONS[1])
    costs = [next(iter(step.charge.values())).divergence for step in price.steps]
    count, mean, total = costs
    assert mean / 2 == pytest.approx(count, rel=1e-3) == pytest.approx(total, rel=1e-3)  # a mean is count and sum


@pytest.mark.parametrize("renyi_filter", [PURE, APPROXIMATE])
@pytest.mark.parametrize("groups", ["", " GROUP BY city"])
def test_others_get_no_larger_noise_beside_a_mean_that_is_measured_at_once(
    renyi_filter: RenyiFilter, groups: str
) -> None:
    split, apart = (
        at(f"SELECT SUM(age), AVG(cost){more} FROM visits{groups}", renyi_filter) for more in ("", ", STDDEV(cost)")
    )
    (total, mean), (same, *_) = split.steps, apart.steps
    assert isinstance(mean.measurement, SplitSums)
    assert total.mechanism.law.variance() < same.mechanism.law.variance()  # type: ignore[attr-defined]
    assert next(iter(total.charge.values())).divergence * 3 == pytest.approx(
        next(iter(split.charge.values())).divergence, rel=1e-3
    )


def test_weights_move_the_price() -> None:
    price = at("SELECT COUNT(*) AS n, SUM(age) AS total FROM visits", weights={"n": 3})
    count, total = (next(iter(step.charge.values())).divergence for step in price.steps)
    assert count == pytest.approx(3 * total, rel=1e-3)


def test_a_weight_for_no_column_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="output columns"):
        at("SELECT COUNT(*) AS n FROM visits", weights={"m": 3})


def test_many_groups_get_gaussian_noise_and_one_number_laplace_noise_at_equal_price() -> None:
    many = at("SELECT icd, COUNT(*) FROM visits WHERE icd IN ('a','b','c','d','e','f') GROUP BY icd")
    assert isinstance(many.steps[0].mechanism, DiscreteGaussian)
    one = priced(
        ask("SELECT COUNT(*) FROM visits", most=ContributionBounds(rows=1, groups=1)),
        amounts={"patients": RenyiFilter.of(Budget(20, "1e-9")).amount(epsilon=20)},
    )
    assert isinstance(one.steps[0].mechanism, DiscreteLaplace)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_chosen_noise_has_the_smaller_error_of_the_two_at_equal_price(epsilon: str) -> None:
    price = at("SELECT city, COUNT(*) FROM visits GROUP BY city", epsilon=epsilon)
    (step,), offers = price.steps, [APPROXIMATE.amount(epsilon=epsilon)]
    sizes, neighbours = step.measurement.sensitivity, step.measurement.sensitivity.neighbours
    assert neighbours is not None
    both = [kind(sizes, neighbours, offers).error("0.05") for kind in (choosing.laplace, choosing.gaussian)]
    assert isinstance(step.mechanism, DiscreteLaplace | DiscreteGaussian)
    assert step.mechanism.error("0.05") == min(both) < max(both)


def test_keys_are_found_by_the_mechanism_that_fits_what_is_shown() -> None:
    kinds = [type(at(sql).steps[0].mechanism) for sql in UNKNOWN_KEYS]
    assert kinds == [RenyiKeySelection, CountedKeys, LimitedTopK]
    assert isinstance(at(QUESTIONS[-1]).steps[0].mechanism, TopK)


def test_what_can_be_chosen_is_told_and_holds_all_that_is_chosen() -> None:
    asked = [*QUESTIONS, *UNKNOWN_KEYS, "SELECT STABLE_MODE(city), ROBUST_MEDIAN(cost) FROM visits"]
    chosen = {choosing.kind_of(step.mechanism) for sql in asked for step in at(sql).steps}
    assert {StableMode, SmoothQuantile, DiscreteGaussian, LimitedTopK} <= chosen < choosing.choosable()
    assert all(hasattr(kind, "release") for kind in choosing.choosable())


def test_the_choice_of_keys_gets_all_of_the_delta() -> None:
    price = at(UNKNOWN_KEYS[0])
    offered = APPROXIMATE.amount(epsilon="0.5")
    found, counted = (step.charge["patients"] for step in price.steps)
    assert 0.99 * offered.delta < found.delta <= offered.delta
    assert counted.delta == 0


def test_a_question_about_two_populations_is_charged_to_both() -> None:
    question = ask("SELECT COUNT(*) FROM (SELECT city FROM patients UNION ALL SELECT city FROM doctors)")
    other = RenyiFilter.of(Budget(1, "1e-6"))
    amounts = {"patients": APPROXIMATE.amount(epsilon="0.5"), "doctors": other.amount(epsilon="0.1")}
    price = priced(question, amounts=amounts)
    assert set(price.charge) == {"patients", "doctors"}
    assert all(price.charge[name] <= amounts[name] for name in amounts)
    assert price.charge["doctors"].order == other.order


def test_too_little_for_one_unit_a_measurement_is_refused() -> None:
    question = ask(QUESTIONS[1])
    with pytest.raises(InvalidParameter, match="nothing was run or charged"):
        priced(question, amounts={"patients": Charge(divergence=1, order=APPROXIMATE.order)})


@pytest.mark.textbook("S18.13")
def test_explain_tells_unit_stability_clamp_mechanism_theorem_and_loss() -> None:
    text = at(QUESTIONS[1]).explain(lambda step: "SELECT 1")
    words = ("Trust: whoever runs", "patient_id", "stability 1", "clamp", "bound: at most 20 rows", "Theorem 4", "rho")
    for word in words:
        assert word in text
    assert "SELECT 1" in text


@pytest.mark.parametrize("sql", [*QUESTIONS, *UNKNOWN_KEYS])
def test_explain_cites_papers_and_no_rows_of_a_table_that_is_not_at_hand(sql: str) -> None:
    text = at(sql).explain(lambda step: "SELECT 1")
    assert "see its docstring" not in text
    assert not re.search(r"\bS\d+\.\d+|the notes", text)


def test_expected_errors_shrink_as_the_price_grows() -> None:
    cheap = at("SELECT COUNT(*) AS n, AVG(cost) AS c FROM visits", epsilon="0.1").expected_error()
    dear = at("SELECT COUNT(*) AS n, AVG(cost) AS c FROM visits", epsilon="1").expected_error()
    assert dear["n"].at(1) < cheap["n"].at(1)
    assert dear["c"].at(10_000) < cheap["c"].at(10_000)


TERMS = {"mode": "city", "stable_mode": "city", "histogram": "city", "count": "*"}
FURTHER = {
    **dict.fromkeys(("covar", "corr"), ", age"), **dict.fromkeys(("quantile", "robust_quantile"), ", 0.25"),
    **dict.fromkeys(("robust_trimmed_mean",), ", 0.1"), "stable_quantile": ", 0.5", "proposed_quantile": ", 0.5, 50",
    "proposed_median": ", 50",
}  # fmt: skip


@pytest.mark.parametrize("aggregate", sorted({name for name, _, _ in AGGREGATES.values()}))
@pytest.mark.parametrize("share", ["1", "1e-2", "1e-5", "1e-9"])
def test_every_statistic_tells_its_error_at_any_price_that_is_taken(aggregate: str, share: str) -> None:
    sql = f"SELECT {aggregate}({TERMS.get(aggregate, 'cost')}{FURTHER.get(aggregate, '')}) AS x FROM visits"
    with suppress(InvalidParameter):  # too little
        found = priced(ask(sql), amounts={"patients": APPROXIMATE.part(share=share)}).expected_error(size=1000)
        assert str(found["x"])


def test_shown_unit_counts_are_thresholded_where_the_price_is_high_enough() -> None:
    question = ask(UNKNOWN_KEYS[1])
    rich = RenyiFilter.of(Budget(1, "1e-6"))
    dear = priced(question, amounts={"patients": rich.amount(epsilon=1)})
    assert isinstance(dear.steps[0].mechanism, ThresholdedCounts)


@pytest.mark.parametrize("sql", UNKNOWN_KEYS[:2])
@pytest.mark.parametrize(("groups", "share"), [(1, "1e-6"), (100, "1e-6"), (3001, "1e-4"), (301, "1e-5")])
def test_cheap_choices_of_keys_are_priced_quickly_or_refused(sql: str, groups: int, share: str) -> None:
    question = ask(sql, most=ContributionBounds(rows=1, groups=groups))
    offered = APPROXIMATE.part(share=share)
    with suppress(InvalidParameter):
        assert priced(question, amounts={"patients": offered}).charge["patients"] <= offered


@pytest.mark.parametrize("key", ["icd", "age"])
def test_a_long_list_is_made_of_counts_and_a_short_one_is_chosen(key: str) -> None:
    sql = f"SELECT {key} FROM visits GROUP BY {key} ORDER BY COUNT(*) DESC LIMIT "
    assert isinstance(at(sql + "100").steps[0].mechanism, LimitedTopK | TopK)
    assert not any(isinstance(step.mechanism, LimitedTopK | TopK) for step in at(sql + "101").steps)


def test_a_total_that_cannot_change_is_answered_like_any_other() -> None:
    assert at("SELECT SUM(age * 0) AS nothing FROM visits").expected_error()["nothing"].at(1) > 0
    assert at("SELECT AVG(age) AS five FROM visits WHERE age = 5").charge["patients"].divergence > 0
