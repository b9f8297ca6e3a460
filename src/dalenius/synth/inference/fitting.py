"""Consistency: noisy counts of overlapping groups of columns, averaged where they speak of the same thing.

The counts of a group split into orthogonal parts, one for each of its subsets of columns: what the subset says beyond
its own subsets. Two groups measure the same part if both hold the subset, and the best estimate of a part is the mean
over all groups that hold it, weighted by their exactness. So least squares that may go below zero have a closed form.
Reference: Xiao, He, Zhang & Kifer 2023 (arXiv:2305.08175), residual bases of marginals.

Fitting: the distribution whose marginals lie closest to noisy measurements, with a certificate of how close.

Let A take a distribution p over rows to its measured marginals, N be the number of rows, y the noisy counts and W the
inverse of their variances. The squares L(p) = |N A p - y|^2 / 2, weighted by W, are least over all distributions where
the dual function
    D(v) = <v, y> - |v|^2 / 2 - N max over rows of <v, A row>,
with squares weighted by the variances, is greatest, and L(p) >= D(v) for all p and v: that is the certificate, and the
tree finds its maximum over rows exactly. The maximum has corners. A pull of r rows towards the uniform distribution
(r times the relative entropy is added to L) turns it into r log of the mean of exp(N <v, A row> / r): smooth, with the
model p(row) = exp(N <v, A row> / r) as its derivative, and of curvature one at least, so quasi-Newton descent is quick
and, begun from the dual of an earlier fit, quicker. The pull is then lowered until the certificate is good enough.

Least squares fit the noise too. A pull that stays, towards independent columns instead of the uniform distribution,
gives less of it back: cells that should hold fewer people than a part of the noise are left as independence says. That
model minimises L plus r times its relative entropy to independent columns, and half of the squared gradient of the
smooth dual is how far it is above that minimum, at most.
References: Nesterov 2005, smooth minimization of non-smooth functions; McKenna, Sheldon & Miklau 2019
(arXiv:1901.09136), graphical-model estimation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from operator import attrgetter

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.inference.beliefs import Array, Beliefs, spread, summed
from dalenius.synth.inference.calibration import Calibration, Possible
from dalenius.synth.inference.descent import descend
from dalenius.synth.inference.trees import clique_tree
from dalenius.tabular.domains import CellDomain, Columns


def agreed(arrays: Mapping[Columns, Array], weights: Mapping[Columns, float]) -> dict[Columns, Array]:
    """The arrays nearest to these by weighted squares that are all marginals of one array."""
    sums: dict[Columns, Array] = {}
    total: dict[Columns, float] = {}
    for group, array in arrays.items():
        for subset, repeats in _subsets(group, array):
            weight = weights[group] / repeats
            part = weight * _beyond_its_subsets(summed(array, group, subset))
            sums[subset] = sums[subset] + part if subset in sums else part
            total[subset] = total.get(subset, 0.0) + weight
    means = {subset: part / total[subset] for subset, part in sums.items()}
    found = {}
    for group, array in arrays.items():
        whole = np.zeros(array.shape)
        for subset, repeats in _subsets(group, array):
            whole += spread(means[subset], subset, group) / repeats
        found[group] = whole
    return found


def _subsets(group: Columns, array: Array) -> Iterator[tuple[Columns, int]]:
    """All subsets of a group, and how many cells of the group make one cell of each."""
    lengths = dict(zip(group, array.shape, strict=True))
    for size in range(len(group) + 1):
        for subset in combinations(group, size):
            cells = 1
            for name in subset:
                cells *= lengths[name]
            yield subset, array.size // cells


def _beyond_its_subsets(array: Array) -> Array:
    for axis in range(array.ndim):
        array = array - array.mean(axis=axis, keepdims=True)
    return array


GAP_PER_CELL = 0.1
"""The gap that is asked for unless told otherwise, for each measured cell: each adds about one half to the squares."""

_GAP_PER_ROW = 8.0
"""About how large the gap is for each row of pull: where to begin."""
_LOWER, _STRIDE = 3.0, 8.0
_ALIKE = 1e-4
"""The part of each column's distribution that is all alike, so that nothing possible is ruled out by noise."""
_SHARE = 0.05
"""The part of the gap that a descent may leave."""


@dataclass(frozen=True)
class Fitted:
    """A distribution over the columns and the number of rows; `gap` bounds how far its squares are above the least
    possible ones, and `squares` are what they are: about half the number of measured cells if all is well. `pull` is
    the number of rows by which the model is drawn to the uniform distribution, `dual` the certificate."""

    beliefs: Beliefs
    total: float
    squares: float
    gap: float
    steps: int
    pull: float
    dual: Mapping[Columns, Array]

    def counts(self, columns: Iterable[str]) -> Array:
        """The expected counts of all combinations of some columns."""
        return self.total * self.beliefs.marginal(self.beliefs.grid.ordered(columns))


def total_of(measured: Sequence[NoisyMarginal]) -> float:
    """The number of rows that noisy counts suggest: their sums, weighted by how exact each is."""
    weights = np.array([1 / (part.deviation**2 * part.counts.size) for part in measured])
    sums = np.array([part.counts.sum() for part in measured])
    return max(1.0, float((weights * sums).sum() / weights.sum()))


def fit(
    grid: CellDomain,
    measured: Sequence[NoisyMarginal],
    *,
    total: float | None = None,
    start: Fitted | None = None,
    possible: Possible | None = None,
    together: Iterable[Columns] = (),
    gap: float | None = None,
    pull: float | None = None,
    steps: int = 1_000,
) -> Fitted:
    """Fit until the squares are certified to be within `gap` of the least possible, or for so many steps.

    `start` is an earlier fit to begin from, of other measurements of the same grid. `possible` gives for the columns of
    a clique 1 where a combination can occur and 0 where it is declared impossible; `together` are groups of columns
    that some clique must hold, so that what is impossible for them can be said. With a `pull` of so many rows towards
    independent columns, the gap is that of the squares and the pull together.
    """
    if not measured:
        raise InvalidParameter("measured", [], allowed="at least one measurement")
    if gap is not None and not gap > 0:
        raise InvalidParameter("gap", gap, allowed="a positive number")
    if total is not None and not total > 0:
        raise InvalidParameter("total", total, allowed="a positive number of rows")
    counts, weights = _merged(grid, measured)
    rows = total_of(measured) if total is None else total
    tree = clique_tree([*counts, *(grid.ordered(group) for group in together)], grid)
    consistent = agreed(counts, weights)
    base = None if pull is None else independent(grid, consistent, rows)
    calibration = Calibration(grid, tree, list(counts), possible, base)
    wanted = GAP_PER_CELL * calibration.size if gap is None else gap
    problem = _Squares(calibration, consistent, weights, rows)
    found = problem.solved(start, gap=wanted, steps=steps, pull=pull)
    apart = sum(
        float(((part.counts - problem.consistent[part.columns]) ** 2).sum()) / part.deviation**2 for part in measured
    )
    return replace(found, squares=found.squares + apart / 2)


def independent(grid: CellDomain, consistent: Mapping[Columns, Array], rows: float) -> dict[str, Array]:
    """The distribution of each column as its noisy counts say, with a little of all alike; columns of which nothing was
    measured have none."""
    found = {}
    for name, size in grid.sizes.items():
        group = min((group for group in consistent if name in group), key=grid.size, default=None)
        if group is not None:
            counts = np.maximum(summed(consistent[group], group, (name,)), 0.0)
            found[name] = (counts + _ALIKE * rows / size) / (counts.sum() + _ALIKE * rows)
    return found


def _merged(grid: CellDomain, measured: Sequence[NoisyMarginal]) -> tuple[dict[Columns, Array], dict[Columns, float]]:
    """One array of counts for each group of columns, the weighted mean of all, and its weight."""
    sums: dict[Columns, Array] = {}
    weights: dict[Columns, float] = {}
    for part in measured:
        _check(grid, part)
        weight = part.deviation**-2
        sums[part.columns] = sums.get(part.columns, 0.0) + weight * part.counts
        weights[part.columns] = weights.get(part.columns, 0.0) + weight
    return {group: array / weights[group] for group, array in sums.items()}, weights


def _check(grid: CellDomain, part: NoisyMarginal) -> None:
    if part.columns != grid.ordered(part.columns) or part.counts.shape != grid.shape(part.columns):
        raise InvalidParameter(
            "measured", part.columns, allowed="columns in the grid's order and counts of their shape"
        )
    if not (0 < part.deviation < np.inf and np.isfinite(part.counts).all()):
        raise InvalidParameter("measured", part.columns, allowed="finite counts and a positive deviation")


def _pulls(rows: float, last: float, *, warm: bool) -> Iterator[float]:
    """How strong the pull is, time after time: a cold start comes down from all rows in large strides."""
    pull = last if warm else max(rows, last)
    while True:
        yield pull
        pull = max(pull / _STRIDE, last) if pull > last else pull / _LOWER


@dataclass(frozen=True)
class _Step:
    squares: float
    pull: float
    place: Array


_NOTHING = _Step(np.inf, 1.0, np.zeros(0))


class _Squares:
    """The weighted squares over a tree, as a smooth problem in scaled duals: one number for each measured cell.

    Counts are first made consistent, which takes a constant off the squares; the duals of consistent counts lie in a
    smaller space, so descent has fewer directions to learn.
    """

    def __init__(
        self, calibration: Calibration, counts: dict[Columns, Array], weights: dict[Columns, float], total: float
    ) -> None:
        self.consistent = counts
        self._calibration, self._weights, self._total = calibration, weights, total
        self._scale = calibration.pack({group: np.full(counts[group].shape, weights[group] ** 0.5) for group in counts})
        self._target = self._scale * calibration.pack(self.consistent)
        self._row_scale = total * self._scale

    def solved(self, start: Fitted | None, *, gap: float, steps: int, pull: float | None) -> Fitted:
        """The model of a pull that stays, or of one that is lowered until the squares are certified."""
        return self._lowered(start, gap, steps) if pull is None else self._pulled(start, gap, steps, pull)

    def _pulled(self, start: Fitted | None, gap: float, steps: int, last: float) -> Fitted:
        """The least of squares and pull; a cold start comes down to the pull in strides."""
        place, done, pull = self._begin(start), 0, last
        for pull in _pulls(self._total, last, warm=start is not None):
            room = gap if pull == last else _SHARE * _GAP_PER_ROW * pull
            place, used = descend(partial(self._smooth, pull), place, excess=room, steps=max(1, steps - done))
            done += used
            if pull == last or done >= steps:
                break
        _, gradient = self._smooth(pull, place)
        found = _Step(self._squares(self._marginals(pull, place)), pull, place)
        return self._fitted(found, float(gradient @ gradient) / 2, done, place)

    def _lowered(self, start: Fitted | None, gap: float, steps: int) -> Fitted:
        """Lower the pull until the squares are certified, or all steps are used; the best of what was found."""
        place, done, highest, best = self._begin(start), 0, 0.0, _NOTHING
        for pull in _pulls(self._total, gap / _GAP_PER_ROW, warm=start is not None):
            smooth = partial(self._smooth, pull)
            place, used = descend(smooth, place, excess=_SHARE * _GAP_PER_ROW * pull, steps=max(1, steps - done))
            highest, done = max(highest, self._dual(place)), done + used
            best = min(best, _Step(self._squares(self._marginals(pull, place)), pull, place), key=attrgetter("squares"))
            if best.squares - highest <= gap or done >= steps:
                break
        return self._fitted(best, max(0.0, best.squares - highest), done, place)

    def _fitted(self, found: _Step, gap: float, done: int, place: Array) -> Fitted:
        return Fitted(
            beliefs=self._calibration.beliefs(self._potentials(found.pull, found.place)),
            total=self._total,
            squares=found.squares,
            gap=gap,
            steps=done,
            pull=found.pull,
            dual=self._calibration.unpack(self._scale * place),
        )

    def _begin(self, start: Fitted | None) -> Array:
        """The dual of an earlier fit, as far as it has the same groups, made consistent."""
        if start is None:
            return np.zeros(self._calibration.size)
        known = {group: array / self._weights[group] for group, array in start.dual.items() if group in self._weights}
        rest = {group: np.zeros(array.shape) for group, array in self.consistent.items() if group not in known}
        return self._scale * self._calibration.pack(agreed(known | rest, self._weights))

    def _potentials(self, pull: float, place: Array) -> Array:
        return self._row_scale * place / pull

    def _marginals(self, pull: float, place: Array) -> Array:
        return self._calibration.marginals(self._potentials(pull, place))

    def _smooth(self, pull: float, place: Array) -> tuple[float, Array]:
        """Minus the smooth dual, and its gradient."""
        gradient = self._row_scale * self._marginals(pull, place)
        gradient += place
        gradient -= self._target
        value = float(place @ (0.5 * place - self._target)) + pull * self._calibration.log_total
        return value, gradient

    def _squares(self, marginals: Array) -> float:
        off = self._row_scale * marginals - self._target
        return 0.5 * float(off @ off)

    def _dual(self, place: Array) -> float:
        """The dual function at the best multiple of a dual: no distribution has squares below it."""
        linear = float(place @ self._target) - self._total * self._calibration.greatest(self._scale * place)
        return linear**2 / (2 * float(place @ place)) if linear > 0 else 0.0
