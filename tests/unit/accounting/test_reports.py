from __future__ import annotations

from fractions import Fraction

import pytest
from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from dalenius.accounting import reports
from dalenius.accounting.composition import repeated
from dalenius.accounting.conversion import to_approximate, to_delta
from dalenius.accounting.reports import IntegerGaussian, reported_delta, reported_epsilon
from dalenius.errors import InvalidParameter, MissingExtra, TheoremDoesNotApply
from dalenius.privacy.losses import ZCDP, ApproximateDP, LaplaceDP, Loss, PureDP

BIT = PureDP(Fraction(1, 2))


def packaged_epsilon(count: int) -> float:
    """Randomized response at epsilon = 1/2 by the package's own accountant."""
    accountant = pld_privacy_accountant.PLDAccountant(privacy_accountant.NeighboringRelation.REPLACE_ONE)
    flips = 2 / (1 + 2.718281828459045**0.5)  # a uniformly random bit with this probability, else the truth
    accountant.compose(dp_event.RandomizedResponseDpEvent(flips, 2), count)
    return float(accountant.get_epsilon(1e-9))


def test_the_package_bills_ten_randomized_responses_as_one_and_we_bill_ten() -> None:
    assert packaged_epsilon(10) == pytest.approx(packaged_epsilon(1))
    ours = reported_epsilon({BIT: 10}, delta="1e-9")
    assert ours == pytest.approx(5, rel=0.01)
    assert ours == pytest.approx(float(to_approximate(repeated(BIT, 10), delta="1e-9").epsilon), rel=1e-3)


@pytest.mark.parametrize(
    "loss", [PureDP(Fraction(1, 10)), ApproximateDP("0.2", "1e-7"), LaplaceDP(Fraction(1, 5), steps=1)]
)
def test_two_independent_accountants_agree_within_one_percent(loss: Loss) -> None:
    for count in (1, 30):
        exact = to_approximate(repeated(loss, count), delta="1e-5").epsilon
        assert reported_epsilon({loss: count}, delta="1e-5") == pytest.approx(float(exact), rel=0.01)


def test_gaussian_conversion_agrees_with_the_package_within_one_percent() -> None:
    for rho, delta in [(Fraction(1, 200), 1e-6), (Fraction(1, 2), 1e-9), (Fraction(5), 1e-5)]:
        accountant = rdp_privacy_accountant.RdpAccountant(orders=[1 + 2 ** (k / 8) for k in range(-40, 90)])
        accountant.compose(dp_event.GaussianDpEvent(float(1 / (2 * rho)) ** 0.5))
        ours = to_approximate(ZCDP(rho), delta=delta).epsilon
        assert float(ours) == pytest.approx(accountant.get_epsilon(delta), rel=0.01)


def test_a_report_is_tighter_than_the_ledger_for_gaussian_noise_and_never_above_it() -> None:
    ledger = to_approximate(repeated(ZCDP(Fraction(1, 50)), 25), delta="1e-6").epsilon
    report = reported_epsilon({IntegerGaussian(Fraction(25)): 25}, delta="1e-6")
    assert 0.85 < report / float(ledger) < 1


def test_different_uses_add_up_and_compositions_are_taken_apart() -> None:
    laplace = LaplaceDP(Fraction(3, 10), steps=3)
    together = reported_delta({BIT: 2, laplace: 3}, epsilon=1)
    assert together == pytest.approx(reported_delta({repeated(BIT, 2): 1, repeated(laplace, 3): 1}, epsilon=1))
    assert together > reported_delta({laplace: 3}, epsilon=1)
    assert reported_delta({BIT: 1}, epsilon="0.25") == pytest.approx(float(to_delta(BIT, epsilon="0.25")), rel=0.01)


def test_a_gaussian_loss_alone_tells_no_distribution() -> None:
    with pytest.raises(TheoremDoesNotApply, match="IntegerGaussian"):
        reported_epsilon({ZCDP(Fraction(1)): 1}, delta="1e-6")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "privacy_loss_distribution", None)
    with pytest.raises(MissingExtra, match=r"pip install 'dalenius\[reports\]'"):
        reported_epsilon({BIT: 1}, delta="1e-6")


def test_bad_input_is_refused() -> None:
    for bad in (0, -1, 1.5, None):
        with pytest.raises(InvalidParameter):
            reported_epsilon({BIT: bad}, delta="1e-6")  # type: ignore[dict-item]
    with pytest.raises(InvalidParameter):
        reported_epsilon({BIT: 1}, delta=0)
    with pytest.raises(InvalidParameter):
        IntegerGaussian(Fraction(0))


def test_a_laplace_loss_of_many_steps_is_reported_in_full() -> None:
    assert reported_epsilon({LaplaceDP(Fraction(1), 5): 1}, delta="1e-12") == pytest.approx(1, rel=0.01)
