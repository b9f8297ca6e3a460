"""Tables are exact: every word leads where the real numbers say, and the rarest paths are forced here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

from checks import SeededEntropy
from dalenius.randomness import tables
from dalenius.randomness.binomial_counts import BinomialCells
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.gaussian import GaussianCells
from dalenius.randomness.laplace import GeometricCells, LaplaceCells
from dalenius.randomness.tables import LawCells, LawTable, refined_cell
from scripted import Script

TOP = 1 << 64
HALF = Fraction(1, 2)
LAWS: dict[str, LawCells] = {
    "geometric, tiny": GeometricCells(Fraction(1, 50)),
    "geometric": GeometricCells(Fraction(7, 3)),
    "geometric, wide": GeometricCells(Fraction(1000)),
    "laplace, tiny": LaplaceCells(Fraction(1, 1000)),
    "laplace": LaplaceCells(Fraction(5, 2)),
    "laplace, wide": LaplaceCells(Fraction(1000, 3)),
    "gaussian, tiny": GaussianCells(Fraction(1, 400)),
    "gaussian": GaussianCells(Fraction(47, 5)),
    "gaussian, wide": GaussianCells(Fraction(700**2)),
    "binomial, fair": BinomialCells(12, HALF),
    "binomial, skew": BinomialCells(30, Fraction(1, 7)),
    "binomial, one coin": BinomialCells(1, Fraction(2, 3)),
    "binomial, many coins": BinomialCells(5000, HALF),
}
WIDE = {name: cells for name, cells in LAWS.items() if cells.shift}


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mp.workdps(80):
        yield


def real(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def law(cells: LawCells, z: int) -> mpf:
    """The weight of an integer, from the textbook's formula."""
    match cells:
        case LaplaceCells():
            return mp.exp(-abs(z) / real(cells.scale))
        case GeometricCells():
            return mp.exp(-z / real(cells.scale)) if z >= 0 else mpf(0)
        case GaussianCells():
            return mp.exp(-z * z / (2 * real(cells.variance)))
        case BinomialCells():
            inside = 0 <= z <= cells.n
            p = real(cells.p)
            return mp.binomial(cells.n, z) * p**z * (1 - p) ** (cells.n - z) if inside else mpf(0)
    raise AssertionError(cells)


@cache
def envelope(cells: LawCells) -> list[mpf]:
    """The probabilities of the cells before rejection: the weight of each cell's heaviest integer, normalised.

    Cells are summed until less than 2^-96 is left.
    """
    listed = len(cells.boundaries(128).least)
    weights = [law(cells, int(cells.value(cell))) for cell in range(listed)]
    total = mp.fsum(weights)
    return [weight / total for weight in weights]


def cumulative(cells: LawCells) -> list[mpf]:
    totals, total = [], mpf(0)
    for chance in envelope(cells):
        total += chance
        totals.append(total)
    return totals


@pytest.mark.textbook("S2.2", "S2.4")
@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("name", LAWS)
def test_boundaries_enclose_the_cumulative_law(name: str, bits: int) -> None:
    least, last = LAWS[name].boundaries(bits)
    ends = cumulative(LAWS[name])
    for low, high, end in zip(least, last, ends, strict=False):
        assert low <= end * 2**bits <= high + 1
        assert high <= low + 1
    assert least == sorted(least)
    assert last == sorted(last)
    assert 1 - ends[len(least) - 1] < mpf(2) ** (-bits + bits // 4 + 1)


def test_a_wrong_boundary_would_be_noticed() -> None:
    """The check above tells a scale that is off by a part in 10^15."""
    least, last = LaplaceCells(Fraction(5, 2) + Fraction(1, 10**15)).boundaries(64)
    ends = cumulative(LaplaceCells(Fraction(5, 2)))
    assert any(not low <= end * 2**64 <= high + 1 for low, high, end in zip(least, last, ends, strict=False))


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("name", LAWS)
def test_kept_pairs_follow_the_law(name: str) -> None:
    """P[cell] / 2^shift * exp(-y) is proportional to the law, and no integer has two names."""
    cells = LAWS[name]
    seen: dict[int, mpf] = {}
    for cell, chance in enumerate(envelope(cells)[:60]):
        for r in {0, 1, (1 << cells.shift) // 2, (1 << cells.shift) - 1} & set(range(1 << cells.shift)):
            value = int(cells.value(cell))
            z = value ^ r
            assert z not in seen
            seen[z] = chance * mp.exp(-real(cells.rate) * cells.exponent(value, r))
    assert seen.keys() >= {0} or isinstance(cells, BinomialCells)
    ratios = [chance / law(cells, z) for z, chance in seen.items() if law(cells, z)]
    assert max(ratios) - min(ratios) < min(ratios) * mpf(10) ** -30


@pytest.mark.parametrize("name", WIDE)
def test_what_is_kept_without_a_look_has_a_small_exponent(name: str) -> None:
    cells = WIDE[name]
    values = cells.value(np.arange(len(cells.boundaries(64).least)))
    farthest = (1 << cells.shift) - 1
    for value in values[cells.safe(values)].tolist():
        assert cells.rate * cells.exponent(value, farthest) <= Fraction(1, 32)
    assert cells.safe(values)[:100].all()


@pytest.mark.textbook("S2.2", "S2.4")
@pytest.mark.parametrize("name", LAWS)
def test_all_words_of_twelve_bits_lead_to_the_law(name: str) -> None:
    """Exhaustive: each cell has its probability up to the words that leave the cell open."""
    cells = LAWS[name]
    table = LawTable(cells, bits=12, slices=4)
    prefixes = np.arange(1 << 12, dtype=np.uint64)
    chosen, open_ = table._lookup(prefixes, prefixes)
    for cell, chance in enumerate(envelope(cells)):
        decided = int(np.sum(~open_ & (chosen == cells.value(cell))))
        assert decided <= chance * 4096 <= decided + 2 + (open_.sum() if chance * 4096 < 4 else 0)
    guide = table._guide[(prefixes >> np.uint64(8)).astype(int)]
    assert (chosen[guide != tables._OPEN] == guide[guide != tables._OPEN]).all()
    assert not open_[guide != tables._OPEN].any()


@pytest.mark.parametrize("name", LAWS)
def test_the_guide_agrees_with_the_boundaries_at_every_edge(name: str) -> None:
    """Between two edges nothing changes, so this covers all 2^64 words."""
    cells = LAWS[name]
    table, bounds = LawTable(cells), cells.boundaries(64)
    starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    edges = [edge + step for ends in bounds for edge in ends for step in (-1, 0, 1) if 0 <= edge + step < TOP]
    words = np.concatenate([starts, starts + np.uint64((1 << 48) - 1), np.array(edges, dtype=np.uint64)])
    chosen = table._guide[(words >> np.uint64(48)).view(np.int64)]
    some = np.flatnonzero(chosen != tables._OPEN)
    expected = [bounds.cell(int(word)) for word in words[some]]
    assert None not in expected
    assert (cells.value(np.array(expected, dtype=np.int64)) == chosen[some]).all()
    marked = np.mean(table._guide == tables._OPEN)
    assert marked < 0.05


@pytest.mark.parametrize("name", LAWS)
def test_a_word_on_a_boundary_is_refined_by_more_bits(name: str) -> None:
    cells = LAWS[name]
    for bits in (64, 128):
        fine = cells.boundaries(bits + 64)
        for cell in range(min(3, len(fine.least) - 1)):
            if fine.least[cell] != fine.last[cell] or fine.least.count(fine.least[cell]) > 1:
                continue  # a rational end, or an empty cell beside it
            prefix, following = divmod(fine.least[cell], TOP)
            if not 0 < following < TOP - 1:
                continue
            assert refined_cell(prefix, bits, cells, Script(following - 1)) == cell
            assert refined_cell(prefix, bits, cells, Script(following + 1)) == cell + 1


@pytest.mark.parametrize("name", ["laplace", "laplace, wide", "gaussian", "gaussian, wide"])
def test_a_table_refines_words_on_boundaries_and_beyond_the_listed_cells(name: str) -> None:
    cells = LAWS[name]
    table, fine = LawTable(cells), cells.boundaries(128)
    prefix, following = divmod(fine.least[1], TOP)
    drawn = table._search(np.array([prefix], dtype=np.uint64), Script(following - 1))
    assert drawn.tolist() == [cells.value(1)]
    farthest = table._search(np.array([TOP - 1], dtype=np.uint64), Script(TOP // 3))
    cell = fine.cell((TOP - 1) << 64 | TOP // 3)
    assert cell is not None
    assert cell >= len(cells.boundaries(64).least)
    assert farthest.tolist() == [cells.value(cell)]


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("stretch", [1, 32])
def test_the_decision_to_keep_is_exact_to_the_last_bit(name: str, stretch: int) -> None:
    cells = WIDE[name]
    table = LawTable(cells)
    value, r = int(cells.value(5)), (1 << cells.shift) - 1
    y = real(cells.rate * cells.exponent(value, r))
    cut = int(mp.floor(stretch * (1 - mp.exp(-y)) * mpf(2) ** 128))
    first, second = divmod(cut, TOP)

    def kept(word: int, *more: int) -> bool:
        one = np.ones(1)
        words = np.array([word], dtype=np.uint64)
        return bool(table._kept(np.int64([value]), np.int64([r]), stretch * one, words, Script(*more))[0])

    assert 0 < cut < 1 << 128
    assert not kept(0)
    assert kept(TOP - 1) or stretch * y > 0.9
    assert not kept(first - 1)
    assert kept(first + 1)
    assert not kept(first, second - 1)
    assert kept(first, second + 1)


class Tally(Entropy):
    """Counts how often more bits than the first were needed."""

    def __init__(self, seed: object) -> None:
        self._source, self.single = SeededEntropy(seed), 0

    def read(self, count: int) -> bytes:
        self.single += count == 8
        return self._source.read(count)


def test_bulk_draws_almost_never_need_more_than_their_words() -> None:
    """About one decision in a million is left to big integers; 40 in 10^6 draws would be an alarm (below 1e-30)."""
    for name in WIDE:
        tally = Tally(name)
        LawTable(LAWS[name]).fill(np.empty(10**6, dtype=np.int64), tally)
        assert tally.single < 40


def test_tables_are_kept_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_tables", {})
    monkeypatch.setattr(tables, "_KEPT_TABLES", 3)
    for scale in range(1, 6):
        tables.draws(LaplaceCells(Fraction(scale)), int, 1000, SeededEntropy(scale))
    assert [cells.scale for cells in tables._tables] == [3, 4, 5]
    made = tables._tables[LaplaceCells(Fraction(5))]
    tables.draws(LaplaceCells(Fraction(5)), int, 1000, SeededEntropy(5))
    assert tables._tables[LaplaceCells(Fraction(5))] is made


def test_few_draws_make_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_tables", {})
    assert tables.draws(LaplaceCells(Fraction(9)), lambda: 7, (5, 2), SeededEntropy(1)).tolist() == [[7, 7]] * 5
    assert not tables._tables


def test_a_draw_too_large_for_the_array_raises_instead_of_wrapping() -> None:
    cells = LaplaceCells(Fraction(1 << 55))
    with pytest.raises(OverflowError):
        LawTable(cells)._search(np.array([TOP - 1], dtype=np.uint64), Script(*[TOP - 1] * 5, *[1] * 5))


def test_each_bit_of_a_word_is_used_once() -> None:
    slices, cautious, places = 0xFFFF << 48, int(tables._CAUTIOUS), (1 << tables._LOW) - 1
    assert slices & cautious == slices & places == cautious & places == 0
    assert slices | cautious | places == (1 << 64) - 1


def one_draw(table: LawTable, *words: int) -> int:
    """The draw that these words lead to, all of which must be used."""
    script, result = Script(*words), np.empty(1, dtype=np.int64)
    table.fill(result, script)
    assert script.left == []
    return int(result[0])


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("name", WIDE)
def test_a_word_that_was_needed_for_the_cell_chooses_neither_the_place_nor_the_coin(name: str) -> None:
    table = LawTable(LAWS[name])
    low, full = int(table._low), (1 << 64) - 1
    marked = int(np.flatnonzero(table._guide == tables._OPEN)[0])
    word = (marked << 48) | (0x5A5A5A5A5A5A & ~int(tables._CAUTIOUS))
    value = int(table._search(np.array([word], dtype=np.uint64), Script())[0])
    for place in (0, 1, low // 3, low):
        assert one_draw(table, word, place, full) == value ^ place
    # A coin of zero rejects every pair but those of exponent zero, and a new word starts again.
    plain = int(np.flatnonzero(table._guide != tables._OPEN)[7])
    again = plain << 48 | 1
    assert one_draw(table, word, low, 0, again) == int(table._guide[plain]) ^ 1


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("name", WIDE)
def test_a_cautious_word_keeps_its_place_and_is_rejected_with_the_stretched_probability(name: str) -> None:
    cells, table = LAWS[name], LawTable(LAWS[name])
    plain = int(np.flatnonzero(table._guide != tables._OPEN)[-1])
    place = int(table._low)
    word = plain << 48 | int(tables._CAUTIOUS) | place
    value = int(table._guide[plain])
    exponent = cells.rate * cells.exponent(value, place)
    chance = 32 * -math.expm1(-float(exponent))  # 1/32 of all words are cautious
    assert 0 < chance < 1
    edge = int(chance * 2**64)
    again = plain << 48 | 1
    spare = 0x123456789  # the place of a marked slice, not used here
    assert one_draw(table, word, spare, edge + 2**40) == value ^ place
    assert one_draw(table, word, spare, edge - 2**40, again) == value ^ 1


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("name", WIDE)
def test_a_marked_word_is_rejected_with_the_plain_probability(name: str) -> None:
    cells, table = LAWS[name], LawTable(LAWS[name])
    marked, place = int(np.flatnonzero(table._guide == tables._OPEN)[0]), int(table._low)
    word = marked << 48 | 0x5A5A5A5A5A5A
    value = int(table._search(np.array([word], dtype=np.uint64), Script())[0])
    edge = int(-math.expm1(-float(cells.rate * cells.exponent(value, place))) * 2**64)
    plain = int(np.flatnonzero(table._guide != tables._OPEN)[7])
    assert one_draw(table, word, place, edge + 2**40) == value ^ place
    assert one_draw(table, word, place, edge - 2**40, plain << 48 | 1) == int(table._guide[plain]) ^ 1
