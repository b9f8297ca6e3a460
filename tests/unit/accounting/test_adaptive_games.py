"""The filter against every adaptive analyst, in small games that are solved exactly.

A game is a budget and a handful of finite releases with exact laws in two worlds: randomized bits, Laplace noise,
Gaussian-like noise, rare hints, events that give everything away, releases about another block, and one that takes the
whole budget. After each outcome the analyst picks any release that the filter still admits, or stops. Dynamic
programming finds the best of all such trees for telling the worlds apart at the budget's epsilon, in whole numbers.

The same search finds the analyst who breaks each of five filters that look right and are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from random import Random
from typing import TypeAlias

import pytest

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, Charge, price
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.conversion import epsilon_to_renyi, max_divergence, renyi_to_delta
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.privacy.divergences import Distribution, hockey_stick
from dalenius.privacy.loss_distribution import LossDistribution
from dalenius.privacy.losses import ApproximateDP, LaplaceDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.odds import log_above
from dalenius.privacy.reals import ball, lower, precise

Law: TypeAlias = tuple[Fraction, ...]
Counts: TypeAlias = tuple[int, ...]
EVERYBODY, OWN, OTHER = "", "the unit's block", "another block"
PARTS = [Fraction(1, n) for n in (1, 2, 3, 4, 5)] + [Fraction(2, 3), Fraction(3, 4)]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release with the exact masses of its outcomes in two worlds that differ in one unit."""

    worlds: tuple[Law, Law]
    loss: Loss | None = None
    """None takes the whole budget."""
    about: str = EVERYBODY

    def cost(self, renyi_filter: RenyiFilter) -> Charge:
        return renyi_filter.cap if self.loss is None else price(self.loss, order=renyi_filter.order)


@dataclass(frozen=True)
class Game:
    renyi_filter: RenyiFilter
    releases: tuple[Release, ...]

    @property
    def budget(self) -> Budget:
        return self.renyi_filter.budget

    def totals(self, counts: Counts) -> list[Charge]:
        """What each block's filter has seen after so many uses of each release: what is about everybody or itself."""
        return [
            self.total(counts, lambda release, block=block: release.about in (EVERYBODY, block))
            for block in (OWN, OTHER)
        ]

    def total(self, counts: Counts, counted: Callable[[Release], bool]) -> Charge:
        used = zip(self.releases, self.costs, counts, strict=True)
        return sum((cost * count for release, cost, count in used if count and counted(release)), self.none)

    @cached_property
    def costs(self) -> tuple[Charge, ...]:
        return tuple(release.cost(self.renyi_filter) for release in self.releases)

    @cached_property
    def none(self) -> Charge:
        return Charge(divergence=0, order=self.renyi_filter.order, epsilon=0)


Gate: TypeAlias = Callable[[Game, Counts], bool]
"""Whether a filter answers so many uses of each release, in any order."""


def the_filter(game: Game, counts: Counts) -> bool:
    """The real one, of each block."""
    return all(total.admitted(game.renyi_filter.cap) for total in game.totals(counts))


def worst_case(game: Game, gate: Gate, *, rounds: int) -> Fraction:
    """The largest delta at the budget's epsilon that an analyst reaches, in the worse direction.

    It is from above, by less than 2^-64: e^epsilon is rounded down.
    """
    directions = ([release.worlds[::step] for release in game.releases] for step in (1, -1))
    return max(_Search(game, gate, list(laws), rounds).solved() for laws in directions)


class _Search:
    """All trees of so many rounds, from the leaves.

    What an analyst can still reach depends on how often each outcome was seen and in no other way: it fixes what was
    charged and both likelihoods. Masses are multiples of 1 / `unit`; whatever is added up is a multiple of
    1 / (unit^rounds 2^64).
    """

    def __init__(self, game: Game, gate: Gate, laws: list[tuple[Law, ...]], rounds: int) -> None:
        self.game, self.gate, self.rounds = game, gate, rounds
        self.unit = math.lcm(*(mass.denominator for pair in laws for law in pair for mass in law))
        with precise():
            self.odds = math.floor(lower(ball(game.budget.epsilon).exp()) * 2**64)
        self.laws = [[(int(p * self.unit), int(q * self.unit)) for p, q in zip(*pair, strict=True)] for pair in laws]
        self.known: dict[int, int] = {}
        self.moves: dict[Counts, list[tuple[int, Counts]]] = {}

    def solved(self) -> Fraction:
        nothing = (0,) * len(self.laws)
        return Fraction(self._best(nothing, 0, 1, 1, self.rounds), self.unit**self.rounds << 64)

    def _best(self, counts: Counts, seen: int, p: int, q: int, left: int) -> int:
        if seen in self.known:
            return self.known[seen]
        best = max(0, (p << 64) - self.odds * q) * self.unit**left  # who stops here
        for index, after in self._moves(counts) if left else ():
            total = 0
            for place, (a, b) in enumerate(self.laws[index]):
                if not b:  # the other world is ruled out: nothing is left to learn
                    total += (p * a << 64) * self.unit ** (left - 1)
                elif a and left > 1:
                    mark = 1 << 3 * (8 * index + place)  # at most seven times, of eight outcomes
                    total += self._best(after, seen + mark, p * a, q * b, left - 1)
                elif a:
                    total += max(0, (p * a << 64) - self.odds * q * b)
            best = max(best, total)
        self.known[seen] = best
        return best

    def _moves(self, counts: Counts) -> list[tuple[int, Counts]]:
        """The releases that may come next."""
        if counts not in self.moves:
            after = [(*counts[:place], counts[place] + 1, *counts[place + 1 :]) for place in range(len(counts))]
            self.moves[counts] = [pair for pair in enumerate(after) if self._answered(pair[1])]
        return self.moves[counts]

    def _answered(self, counts: Counts) -> bool:
        try:
            return self.gate(self.game, counts)
        except InvalidParameter:  # more than any budget holds
            return False


# ---- releases


def bit(epsilon: Fraction, *, event: Fraction = Fraction(0)) -> Release:
    """Randomized response, which gives the world away with the probability of the event."""
    odds = _below(math.exp(epsilon))
    true, false = ((1 - event) * side / (1 + odds) for side in (odds, Fraction(1)))
    worlds = (event, true, false, Fraction(0)), (Fraction(0), false, true, event)
    bound = log_above(odds)
    assert isinstance(bound, Fraction)
    return Release(worlds=worlds, loss=ApproximateDP(bound, event) if event else PureDP(bound))


def reveal(event: Fraction) -> Release:
    """Gives the world away with some probability, and says nothing else."""
    none = Fraction(0)
    return Release(worlds=((event, 1 - event, none), (none, 1 - event, event)), loss=ApproximateDP(0, event))


def laplace(epsilon: Fraction, steps: int) -> Release:
    """Discrete Laplace noise on a number that differs by some steps; outcomes of equal odds are one."""
    decay = 1 / _below(math.exp(epsilon / steps))
    middle = [(1 - decay) / (1 + decay) * decay**size for size in range(1, steps)]
    law = (1 / (1 + decay), *middle, decay**steps / (1 + decay))
    bound = log_above(1 / decay)
    assert isinstance(bound, Fraction)
    return Release(worlds=(law, law[::-1]), loss=LaplaceDP(steps * bound, steps))


def hint(
    renyi_filter: RenyiFilter, order: Fraction, divergence: Fraction, odds: Fraction, *, pure: bool
) -> Release | None:
    """A yes that is so many times likelier in one world, as often as this divergence pays for.

    Its epsilon is stated or not, as if none were known.
    """

    def made(often: Fraction) -> tuple[Law, Law]:
        return (often, 1 - often), (often / odds, 1 - often / odds)

    low, high = 0, 2**14
    while high - low > 1:
        middle = (low + high) // 2
        fits = _divergence(made(Fraction(middle, 2**15)), order) <= divergence
        low, high = (middle, high) if fits else (low, middle)
    return _release(renyi_filter, made(Fraction(low, 2**15)), pure=pure) if low else None


def bell(renyi_filter: RenyiFilter, deviation: float) -> Release:
    """Gaussian-like weights on four places, shifted by one: no epsilon is stated."""
    weights = [round(2**12 * math.exp(-(((place - 1) / deviation) ** 2) / 2)) + 1 for place in range(4)]
    law = tuple(Fraction(weight, sum(weights)) for weight in weights)
    return _release(renyi_filter, (law, law[::-1]), pure=False)


def _release(renyi_filter: RenyiFilter, worlds: tuple[Law, Law], *, pure: bool) -> Release:
    largest = max(max(p / q, q / p) for p, q in zip(*worlds, strict=True))
    bound = log_above(largest)
    assert isinstance(bound, Fraction)
    points = tuple((order, _divergence(worlds, order)) for order in orders(renyi_filter))
    return Release(worlds=worlds, loss=RenyiCurve(points, Fraction(0), bound if pure else None))


def orders(renyi_filter: RenyiFilter) -> tuple[Fraction, Fraction]:
    """The order of the filter, and another one."""
    assert renyi_filter.order is not None
    return renyi_filter.order, 3 * renyi_filter.order


@cache
def room_of(renyi_filter: RenyiFilter, order: Fraction) -> Fraction:
    """How much divergence of an order keeps the budget, beside the events."""
    left = renyi_filter.budget.delta - renyi_filter.cap.delta * DELTA_UNIT
    return epsilon_to_renyi(epsilon=renyi_filter.budget.epsilon, alpha=order, delta=left)


def _divergence(worlds: tuple[Law, Law], order: Fraction) -> Fraction:
    first, second = (Distribution(dict(enumerate(law))) for law in worlds)
    return LossDistribution.between(first, second).renyi(order)


def _below(number: float) -> Fraction:
    return Fraction(math.floor(number * 1000), 1000)


# ---- games


def games(number: int, *, seed: int, whole: bool = False) -> Iterator[Game]:
    """Random games of at least six releases, whose prices are simple parts of the caps or fill them up."""
    draw = Random(seed)
    while number:
        budget = Budget(Fraction(draw.randint(3, 20), 10), Fraction(draw.randint(10, 80), 1000))
        alpha = draw.choice([None, None, 1 + Fraction(draw.randint(5, 60), 10)])
        try:
            event = budget.delta * draw.choice([Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)])
            renyi_filter = RenyiFilter.of(budget, alpha=alpha, event_delta=event)
        except InvalidParameter:  # no divergence of this order is small enough
            continue
        number -= 1
        yield _game(draw, renyi_filter, whole=whole)


def _game(draw: Random, renyi_filter: RenyiFilter, *, whole: bool) -> Game:
    epsilon, events = renyi_filter.budget.epsilon, renyi_filter.cap.delta * DELTA_UNIT
    releases = [
        bit(epsilon * draw.choice(PARTS)),
        bit(epsilon * draw.choice(PARTS)),
        laplace(epsilon * draw.choice(PARTS), draw.choice([2, 3])),
        bit(epsilon * draw.choice(PARTS), event=events * draw.choice(PARTS)),
        reveal(draw.choice([events, events, renyi_filter.budget.delta]) * draw.choice(PARTS)),
        bell(renyi_filter, draw.uniform(1, 6)),
    ]
    for pure in (False, False, True):
        found = _filling(draw, renyi_filter, releases, pure=pure)
        releases += [found] if found else []
    releases = [_placed(draw, release) for release in draw.sample(releases, draw.randint(6, len(releases)))]
    elsewhere = replace(bit(epsilon * draw.choice(PARTS)), worlds=((Fraction(1),), (Fraction(1),)), about=OTHER)
    releases.append(elsewhere)
    if whole:
        alone = replace(bit(epsilon, event=renyi_filter.budget.delta), loss=None)
        releases.append(replace(alone, about=draw.choice([EVERYBODY, OWN])))
    return Game(renyi_filter, tuple(releases))


def _filling(draw: Random, renyi_filter: RenyiFilter, beside: list[Release], *, pure: bool) -> Release | None:
    """A hint that takes a part of the divergence, or what some other releases leave of it.

    Its odds are near those that are worth most by themselves, or after something that was worth a part of epsilon.
    """
    order, epsilon = draw.choice(orders(renyi_filter)), float(renyi_filter.budget.epsilon)
    room = room_of(renyi_filter, order)
    losses = [release.loss for release in draw.choices(beside, k=draw.randint(0, 2)) if release.loss]
    others = sum((loss.renyi(order) for loss in losses), Fraction(0))
    needed = math.exp(epsilon * draw.choice([0.25, 0.5, 0.75, 1, 1])) * order / (order - 1)
    odds = _below(max(1.05, needed * draw.uniform(0.8, 1.3)))
    return hint(renyi_filter, order, max(room * draw.choice(PARTS), room - others), odds, pure=pure)


def _placed(draw: Random, release: Release) -> Release:
    """About everybody or the unit's block, and with either world first."""
    worlds = release.worlds if draw.random() < 0.7 else release.worlds[::-1]
    return replace(release, worlds=worlds, about=draw.choice([EVERYBODY, EVERYBODY, OWN]))


def ratios(number: int, gate: Gate, *, rounds: int, seed: int, whole: bool = False) -> Iterator[Fraction]:
    """The delta that each game's analyst reaches, as a multiple of the promise."""
    for game in games(number, seed=seed, whole=whole):
        yield worst_case(game, gate, rounds=rounds) / game.budget.delta


# ---- filters that are none


def moving_frontier(game: Game, counts: Counts) -> bool:
    """Divergence and events on the right side of the conversion curve, wherever that is; or addition."""
    return all(total.admitted(game.renyi_filter.cap) or _on_safe_side(game, total) for total in game.totals(counts))


def _on_safe_side(game: Game, total: Charge) -> bool:
    events, size = total.delta * DELTA_UNIT, total.divergence * DIVERGENCE_UNIT
    assert total.order is not None
    implied = renyi_to_delta(divergence=size, alpha=total.order, epsilon=game.budget.epsilon)
    return events + implied <= game.budget.delta


def separate_sums(game: Game, counts: Counts) -> bool:
    """Pure releases by addition and all others by divergence, each with a cap of its own."""
    cap, order = game.renyi_filter.cap, game.renyi_filter.order
    by_addition, by_divergence = (
        game.total(
            counts, lambda release, pure=pure: bool(release.loss) and price(release.loss, order=order).is_pure is pure
        )
        for pure in (True, False)
    )
    within = by_addition.epsilon <= cap.epsilon and by_divergence.divergence <= cap.divergence
    return within and by_addition.delta + by_divergence.delta <= cap.delta


def whole_budget_last(game: Game, counts: Counts) -> bool:
    """A release that takes everything may come after others that are still admitted, for all that is left."""
    used = sum(_wholes(game, counts))
    return (used == 0 and the_filter(game, counts)) or (used == 1 and the_filter(game, _without_wholes(game, counts)))


def all_of_delta_by_addition(game: Game, counts: Counts) -> bool:
    """Events may take all of delta where epsilons add up, since there the divergence takes nothing of it."""
    cap, most = game.renyi_filter.cap, game.budget.delta // DELTA_UNIT
    totals = game.totals(counts)
    return all(total.admitted(cap) or (total.epsilon <= cap.epsilon and total.delta <= most) for total in totals)


def either_of_two_orders(game: Game, counts: Counts) -> bool:
    """The sums of two Rényi orders, of which either has to stay within a cap that is right by itself."""
    used = [(release.loss, count) for release, count in zip(game.releases, counts, strict=True) if release.loss]
    events = sum(count * loss.delta for loss, count in used)
    sums = {order: sum(count * loss.renyi(order) for loss, count in used) for order in orders(game.renyi_filter)}
    within = any(size <= room_of(game.renyi_filter, order) for order, size in sums.items())
    return within and events <= game.renyi_filter.cap.delta * DELTA_UNIT


def _wholes(game: Game, counts: Counts) -> Iterator[int]:
    return (count for release, count in zip(game.releases, counts, strict=True) if release.loss is None)


def _without_wholes(game: Game, counts: Counts) -> Counts:
    return tuple(count * (release.loss is not None) for release, count in zip(game.releases, counts, strict=True))


# ---- promises


@pytest.mark.textbook("S6.8")
@pytest.mark.parametrize("whole", [False, True], ids=["in parts", "with one that takes everything"])
def test_no_adaptive_analyst_passes_the_promise(whole: bool) -> None:
    reached = list(ratios(6, the_filter, rounds=4, seed=1, whole=whole))
    assert Fraction(8, 10) < max(reached) <= 1


@pytest.mark.parametrize(
    ("gate", "number", "least"),
    [
        pytest.param(moving_frontier, 20, 1.2, id="divergence and events are traded"),
        pytest.param(separate_sums, 4, 1.5, id="pure and Gaussian releases are summed apart"),
        pytest.param(all_of_delta_by_addition, 20, 1.05, id="addition gives all of delta to events"),
        pytest.param(whole_budget_last, 2, 3, id="a release that takes everything is not alone"),
    ],
)
def test_the_search_finds_who_breaks_a_filter_that_is_none(gate: Gate, number: int, least: float) -> None:
    assert max(ratios(number, gate, rounds=3, seed=1, whole=gate is whole_budget_last)) > least


def test_two_rényi_orders_are_not_for_free() -> None:
    """After a hint that is mostly paid for in the higher order, either order pays for a proof of its own."""
    renyi_filter = RenyiFilter.of(Budget(2, "1e-3"), alpha=4)
    low, high = orders(renyi_filter)
    first = hint(renyi_filter, high, room_of(renyi_filter, high) * Fraction(3, 10), Fraction(11, 5), pure=False)
    assert first is not None
    assert first.loss is not None
    proofs = [
        hint(renyi_filter, order, room_of(renyi_filter, order) - first.loss.renyi(order), odds, pure=False)
        for order, odds in ((high, _below(math.exp(2) * 12 / 11 / 2.2)), (low, _below(math.exp(2) * 4 / 3)))
    ]
    game = Game(renyi_filter, (first, *filter(None, proofs)))
    assert worst_case(game, either_of_two_orders, rounds=2) > Fraction(5, 4) * game.budget.delta
    assert worst_case(game, the_filter, rounds=2) <= game.budget.delta


# ---- the games and the search themselves


@pytest.mark.parametrize("seed", range(3))
def test_the_laws_keep_what_their_losses_state(seed: int) -> None:
    """Outside of the events, which the losses state too, no divergence is larger."""
    (game,) = games(1, seed=seed, whole=True)
    rounding = Fraction(1, 2**200)  # both sides are rounded up
    for release in game.releases:
        first, second = (Distribution(dict(enumerate(law))) for law in release.worlds)
        exact = LossDistribution.between(first, second)
        if release.loss is None:
            assert exact.delta_at(epsilon=game.budget.epsilon) <= game.budget.delta
            continue
        bound = max_divergence(release.loss)
        assert exact.delta <= release.loss.delta
        assert bound is None or exact.epsilon_at(delta=exact.delta) <= bound + rounding
        for order in orders(game.renyi_filter):
            assert exact.renyi(order) <= release.loss.renyi(order) + rounding


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_what_all_trees_written_out_and_charged_for_give(seed: int) -> None:
    """One by one, with a `PrivacyFilter` for each block."""
    (game,) = games(1, seed=seed)
    with precise():
        odds = lower(ball(game.budget.epsilon).exp())

    def answered(path: tuple[Release, ...]) -> bool:
        blocks = {block: PrivacyFilter(game.renyi_filter, neighbours=AddRemove()) for block in (OWN, OTHER)}
        try:
            for release in path:
                for block in blocks if release.about == EVERYBODY else [release.about]:
                    blocks[block].charge(release.cost(game.renyi_filter))
        except BudgetExceeded:
            return False
        return True

    def best(path: tuple[Release, ...], p: Fraction, q: Fraction, side: int) -> Fraction:
        values = [max(Fraction(0), p - odds * q)]
        for release in game.releases if len(path) < 2 else ():
            if answered((*path, release)):
                outcomes = zip(*release.worlds[::side], strict=True)
                values.append(sum(best((*path, release), p * a, q * b, side) for a, b in outcomes))
        return max(values)

    written_out = max(best((), Fraction(1), Fraction(1), side) for side in (1, -1))
    assert written_out <= worst_case(game, the_filter, rounds=2) < written_out + Fraction(1, 2**60)


def test_one_round_is_the_hockey_stick() -> None:
    for game in games(3, seed=4):
        alone = Game(game.renyi_filter, game.releases[:1])
        first, second = (Distribution(dict(enumerate(law))) for law in alone.releases[0].worlds)
        ways = [hockey_stick(*pair, epsilon=game.budget.epsilon) for pair in ((first, second), (second, first))]
        paid = the_filter(alone, (1,))
        assert abs(worst_case(alone, the_filter, rounds=1) - max(ways) * paid) < Fraction(1, 2**60)
