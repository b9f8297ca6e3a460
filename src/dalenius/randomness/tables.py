"""Many exact draws from one law on the integers: one 64-bit word a draw, more bits only where they are needed.

The law is cut into cells of 2^shift integers. The leading bits of a uniform number choose a cell (inverse transform
against certified cumulative probabilities), other bits choose a place r inside it, and the pair is kept with
probability exp(-y(cell, r)); otherwise the draw starts again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.privacy.reals import precise
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import exp_minus, is_below, whole_point
from dalenius.randomness.integers import PIECE, Size, collected, count, shape

Integers: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]

_GUARD = 64  # bits by which an enclosure is finer than the words that are compared with it
_OPEN = -(1 << 63)  # the guide's entry for a slice that leaves the cell open; no cell begins there
_CAUTION = 5  # a pair is kept without a look at exp(-y) unless these bits are all ones: y is at most 2^-5
_LOW = 43  # bits of a word for the place, after 16 for the cell and 5 for caution
_CAUTIOUS = np.uint64(((1 << _CAUTION) - 1) << _LOW)
_MARGIN = 2.0**-40
_FEW, _MANY = 32, 512  # fewer draws are taken one at a time; from so many on a table is worth its making
_KEPT_TABLES = 32


class Boundaries(NamedTuple):
    """Where cell j ends, in units of 2^-bits: a prefix below least[j] is before, one above last[j] is past it."""

    least: list[int]
    last: list[int]

    def cell(self, prefix: int) -> int | None:
        """The cell of a uniform number with these leading bits, if they decide."""
        passed = bisect_left(self.last, prefix)
        return passed if passed == bisect_right(self.least, prefix) and passed < len(self.least) else None


class LawCells(ABC):
    """A law on the integers, cut into cells 0, 1, 2, ... of 2^shift integers each.

    The integers of a cell are `value(cell) ^ r` for 0 <= r < 2^shift. A pair (cell, r) is kept with probability
    exp(-rate * exponent(value, r)); laws with shift 0 keep every pair.
    """

    shift: int
    rate: Fraction

    @abstractmethod
    def tails(self, bits: int) -> Iterable[arb]:
        """Enclosures of 2^bits * P[cell > j] for j = 0, 1, 2, ..., at the working precision."""

    @abstractmethod
    def value(self, cell: Any) -> Any:
        """The first integer of a cell, for one number and for arrays of them alike."""

    def exponent(self, value: Any, r: Any) -> Any:
        """y / rate, for integers and for arrays of floats alike."""
        return 0 * r

    def safe(self, values: Integers) -> Flags:
        """Where y is at most 2^-5 for every r."""
        return np.ones(values.shape, dtype=np.bool_)

    def boundaries(self, bits: int) -> Boundaries:
        """Where the cells end, until only 2^(-3/4 bits) of the law is left."""
        top, negligible = 1 << bits, 1 << bits // 4
        least, last = [], []
        with precise(bits + _GUARD):
            for tail in self.tails(bits):
                most = tail.ceil().unique_fmpz()
                if most is None:  # a whole number lies inside of the enclosure
                    least.append(top - whole_point(tail.upper().ceil()))
                    last.append(min(top - 1, top - whole_point(tail.lower().ceil())))
                else:
                    least.append(top - int(most))
                    last.append(least[-1])
                if top - least[-1] < negligible:
                    break
        # The true ends only rise, so bounds may be passed on to the neighbours; a search needs them sorted.
        return Boundaries(list(accumulate(least, max)), list(accumulate(reversed(last), min))[::-1])


def refined_cell(prefix: int, bits: int, cells: LawCells, entropy: Entropy) -> int:
    """The cell of the uniform number whose first `bits` bits are `prefix`."""
    while (cell := cells.boundaries(bits).cell(prefix)) is None:
        prefix, bits = prefix << 64 | entropy.word(), bits + 64
    return cell


class LawTable:
    """A law made ready for many draws; tests choose fewer `bits` of the boundaries and fewer (2^) `slices`.

    The guide has an entry for each value of a word's leading 16 bits: the first integer of the cell, if all words that
    begin so are in one cell, or a mark. For a marked slice the whole word is compared with the boundaries, and one
    that does not decide is refined by further bits. In an unmarked slice the rest of the word says nothing about the
    cell, is still uniform, and chooses the place.
    """

    def __init__(self, cells: LawCells, *, bits: int = 64, slices: int = 16) -> None:
        self._cells, self._bits, self._slices = cells, bits, slices
        least, last = cells.boundaries(bits)
        # A law with finitely many cells ends at 2^bits, which no word reaches and 64 bits cannot hold.
        inner = sum(bound < 1 << bits for bound in least)
        self._least = np.array(least[:inner], dtype=np.uint64)
        self._last = np.array(last[:inner], dtype=np.uint64)
        self._values = cells.value(np.arange(len(least), dtype=np.int64))
        self._guide = self._make_guide()
        self._low = np.uint64((1 << cells.shift) - 1)
        # Python rounds this quotient correctly; without places it is not needed and may be too large for a float.
        self._rate = cells.rate.numerator / cells.rate.denominator if cells.shift else 0.0

    def _make_guide(self) -> Integers:
        begin = np.arange(1 << self._slices, dtype=np.uint64) << np.uint64(self._bits - self._slices)
        end = begin + np.uint64((1 << (self._bits - self._slices)) - 1)
        values, open_ = self._lookup(begin, end)
        return np.where(open_ | ~self._cells.safe(values), _OPEN, values)

    def _lookup(self, begin: Words, end: Words) -> tuple[Integers, Flags]:
        """The first integers of the cells of all prefixes from begin to end, and where these leave the cell open."""
        reached = np.searchsorted(self._least, end, side="right")
        open_ = reached >= self._values.size
        some = np.flatnonzero(reached)
        open_[some] |= begin[some] <= self._last[reached[some] - 1]
        return self._values[np.minimum(reached, self._values.size - 1)], open_

    def fill(self, result: Integers, entropy: Entropy) -> None:
        """Replace every entry of `result` by a draw."""
        starts = range(0, result.size, PIECE)
        again = [start + self._try(result[start : start + PIECE], entropy) for start in starts]
        if rejected := sum(part.size for part in again):
            fresh = np.empty(rejected, dtype=np.int64)
            self.fill(fresh, entropy)
            result[np.concatenate(again)] = fresh

    def _try(self, piece: Integers, entropy: Entropy) -> NDArray[np.intp]:
        """Replace every entry of `piece` by the integer of a pair, and return where the pair is not kept."""
        words = entropy.words(piece.size)
        self._guide.take(self._slice(words), out=piece, mode="clip")
        careful = piece == _OPEN
        if self._cells.shift == 0:
            late = np.flatnonzero(careful)
            piece[late] = self._search(words[late], entropy)
            return late[:0]
        careful |= (words & _CAUTIOUS) == _CAUTIOUS
        places = (words if self._cells.shift <= _LOW else entropy.words(piece.size)) & self._low
        late = np.flatnonzero(careful)
        piece[late], places[late], kept = self._look(words[late], places[late], entropy)
        piece ^= places.view(np.int64)
        return late[~kept]

    def _slice(self, words: Words) -> Integers:
        return (words >> np.uint64(64 - self._slices)).view(np.int64)

    def _look(self, words: Words, places: Words, entropy: Entropy) -> tuple[Integers, Words, Flags]:
        """The cells, the places and the fate of pairs that leading bits did not settle."""
        spare = entropy.words(2 * words.size)
        coins = spare[words.size :]
        values = self._guide[self._slice(words)]
        marked = np.flatnonzero(values == _OPEN)
        values[marked] = self._search(words[marked], entropy)
        places[marked] = spare[marked] & self._low
        stretch = np.full(words.size, 2.0**_CAUTION)  # given that the cautious bits are ones
        stretch[marked] = 1.0
        return values, places, self._kept(values, places.view(np.int64), stretch, coins, entropy)

    def _search(self, words: Words, entropy: Entropy) -> Integers:
        """The first integers of the cells that whole words choose."""
        prefixes = words >> np.uint64(64 - self._bits)
        values, open_ = self._lookup(prefixes, prefixes)
        for i in np.flatnonzero(open_):
            values[i] = self._cells.value(refined_cell(int(prefixes[i]), self._bits, self._cells, entropy))
        return values

    def _kept(
        self, values: Integers, r: Integers, stretch: NDArray[np.float64], coins: Words, entropy: Entropy
    ) -> Flags:
        """True with probability 1 - stretch * (1 - exp(-y)).

        A uniform number V, which begins with the word in `coins`, rejects if it is below stretch * (1 - exp(-y)). As
        y - y^2/2 <= 1 - exp(-y) <= y - y^2/2 + y^3/6 for all y >= 0, floats may decide unless V is between the two.
        Their margin is proved: each integer and the rate are rounded once and no more than four sums and products
        follow, so the computed y is within a factor of 1 +- 2^-49. Where stretch is 32, y <= 1/32; where it is 1 and
        y <= 4, both bounds are below 2^4 and off by less than 2^-42; where y > 4 the lower one is below 0 and the
        upper one above 1, and nothing is decided. V is cut to 53 bits. The margin is wider than all this together.
        """
        v = (coins >> np.uint64(11)).astype(np.float64) * 2.0**-53
        y = self._cells.exponent(values.astype(np.float64), r.astype(np.float64)) * self._rate
        least = (y - y * y * 0.5) * stretch
        kept: Flags = v > least + y * y * y * stretch * (1 / 6) + _MARGIN
        for i in np.flatnonzero(~kept & (v > least - _MARGIN)):
            exact = self._cells.rate * self._cells.exponent(int(values[i]), int(r[i]))
            kept[i] = not is_below(int(coins[i]), 64, partial(_rejection, exact, int(stretch[i])), entropy)
        return kept


def _rejection(y: Fraction, stretch: int) -> arb:
    return (1 - exp_minus(y.numerator, y.denominator)) * stretch


_tables: dict[
    LawCells, LawTable
] = {}  # no lock: each step below is safe on its own, and a table made twice does no harm


def _made(cells: LawCells) -> LawTable:
    table = _tables[cells] = LawTable(cells)
    for oldest in list(_tables)[:-_KEPT_TABLES]:
        _tables.pop(oldest, None)
    return table


def draws(cells: LawCells, one: Callable[[], int], size: Size, entropy: Entropy) -> Integers:
    """`size` draws from the law of `cells`; `one` takes a single draw without a table."""
    number = count(size)
    table = _tables.get(cells) if number >= _FEW else None
    if table is None and number < _MANY:
        return collected(size, one)
    result = np.empty(number, dtype=np.int64)
    (table or _made(cells)).fill(result, entropy)
    return result.reshape(shape(size))
