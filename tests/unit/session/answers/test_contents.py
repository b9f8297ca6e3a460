"""Arrays and noisy marginals as answers keep them: exactly, shown as tables, and refused where they are damaged."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import DamagedAnswer
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.contents import NamedArrays, NoisyMarginal, NoisyMarginals
from dalenius.session.answers.encoding import decoded, encoded

FLOATS = st.floats(allow_nan=False)
HARD = np.array([[1 / 3, -2.5e-300, 1e300], [5e-324, -0.0, 2.0**-1074 * 7]])
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    shape = draw(SHAPES)
    size = int(np.prod(shape, dtype=np.int64))
    return np.array(draw(st.lists(FLOATS, min_size=size, max_size=size)), dtype=np.float64).reshape(shape)


def kept(answer: Answer) -> Any:
    """What an answer holds once it was stored and read."""
    again = decoded(encoded(answer))
    assert again == answer
    assert encoded(again) == encoded(answer)
    return again.content


def alike(one: Any, other: Any) -> bool:
    return one.shape == other.shape and other.dtype == np.float64 and one.tobytes() == other.tobytes()


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), arrays(), max_size=3))
def test_arrays_are_kept_to_the_last_bit(parts: dict[str, Any]) -> None:
    found = kept(Answer.of(NamedArrays(parts)))
    assert isinstance(found, NamedArrays)
    assert list(found.parts) == list(parts)
    assert all(alike(parts[name], found.parts[name]) for name in parts)


@pytest.mark.parametrize("array", [HARD, HARD.T, np.array(7.0), np.zeros(0), np.zeros((2, 0, 3)), np.zeros((0,))])
def test_hard_numbers_and_empty_arrays_are_kept_too(array: Any) -> None:
    assert alike(
        np.ascontiguousarray(array).reshape(array.shape), kept(Answer.of(NamedArrays({"w": array}))).parts["w"]
    )


def test_whole_numbers_become_floats_and_what_is_read_can_be_written_to() -> None:
    found = kept(Answer.of(NamedArrays({"count": np.array([7, 2**53])})))
    found.parts["count"][0] = 8
    assert found.parts["count"].tolist() == [8.0, float(2**53)]


def test_arrays_are_shown_as_a_table() -> None:
    answer = Answer.of(NamedArrays({"w": np.array([[1.5, -2.5e-300]]), "none": np.zeros((0, 2)), "b": np.array(1e300)}))
    assert answer.to_dict() == {
        "array": ("w", "w", "b"),
        "shape": ("1 2", "1 2", ""),
        "place": (0, 1, 0),
        "number": (1.5, -2.5e-300, 1e300),
    }


PARTS = (
    NoisyMarginal(("age", "city"), np.array([[3.0, -1.0], [0.0, 2.0**52]]), 1 / 3),
    NoisyMarginal(("city",), np.array([5.0, 0.0]), 2.5e-300),
    NoisyMarginal(("city",), np.array([6.0, 1.0]), 1e15, table="parent"),
)


def test_marginals_are_kept_to_the_last_bit_and_in_order() -> None:
    found = kept(Answer.of(NoisyMarginals(PARTS)))
    assert isinstance(found, NoisyMarginals)
    assert [(part.columns, part.deviation, part.table) for part in found.parts] == [
        (part.columns, part.deviation, part.table) for part in PARTS
    ]
    assert all(alike(one.counts, other.counts) for one, other in zip(PARTS, found.parts, strict=True))


def test_marginals_are_shown_as_a_table_with_bars() -> None:
    shown = Answer.of(NoisyMarginals(PARTS[:2])).to_dict()
    assert shown == {
        "marginal": ("age, city",) * 4 + ("city",) * 2,
        "cell": (0, 1, 2, 3, 0, 1),
        "count": (3, -1, 0, 2**52, 5, 0),
        "count ±": (1,) * 6,
        "deviation": (1 / 3,) * 4 + (2.5e-300,) * 2,
    }
    assert Answer.of(NoisyMarginals(PARTS))["table"] == ("",) * 6 + ("parent",) * 2


# ---- damage

EIGHT = "AAAAAAAAHEA="
"""The number 7."""
WHOLE = {"columns": ["city"], "counts": [[1], EIGHT], "deviation": 1.5, "table": ""}


def damaged(content: dict[str, Any]) -> bool:
    """Whether an answer that holds this is refused."""
    facts = json.loads(encoded(Answer(())))
    text = json.dumps({name: value for name, value in facts.items() if name != "columns"} | content)
    try:
        decoded(text)
    except DamagedAnswer:
        return True
    return False


def test_what_is_whole_is_not_damaged() -> None:
    assert not damaged({"arrays": {"w": [[1], EIGHT]}})
    assert not damaged({"arrays": {"w": [[], EIGHT]}})
    assert not damaged({"arrays": {}})
    assert not damaged({"marginals": [WHOLE, WHOLE | {"table": "child"}]})


@pytest.mark.parametrize(
    "array",
    [
        [[1], "AAAAAAAAHEA"], [[1], "AAAAAAAAHEA=\n"], [[1], "AAAAAAAA=EA="], [[1], "§"], [[1], 7], [[1], None],
        [[1], "AAAAAAAAHEB="], [[1], ""], [[1], "AAAA"], [[2], EIGHT], [[1, 2], EIGHT], [[0], EIGHT], [[-1], EIGHT],
        [[-1, -1], EIGHT], [[2**40, 2**40], EIGHT], [[2**70], EIGHT], [[1] * 100, EIGHT], [[1.0], EIGHT],
        [["1"], EIGHT], [[True], EIGHT], [[None], EIGHT], [1, EIGHT], [None, EIGHT], ["1", EIGHT], [EIGHT],
        [[1], EIGHT, EIGHT], [], None, 5, "w", {"shape": [1], "numbers": EIGHT},
    ],
)  # fmt: skip
def test_damaged_arrays_are_refused(array: Any) -> None:
    assert damaged({"arrays": {"w": array}})
    assert damaged({"marginals": [WHOLE | {"counts": array}]})


@pytest.mark.parametrize(
    "change",
    [
        {"columns": "city"}, {"columns": [5]}, {"columns": None}, {"columns": {"city": 1}}, {"deviation": 0},
        {"deviation": -1.5}, {"deviation": "1.5"}, {"deviation": None}, {"deviation": 10**400}, {"table": None},
        {"table": 5}, {"table": ["parent"]}, {"more": 1}, {"counts": [[1], "AAAAAAAA+H8="]},
        {"counts": [[1], "AAAAAAAA8H8="]},
    ],
)  # fmt: skip
def test_damaged_marginals_are_refused(change: dict[str, Any]) -> None:
    assert damaged({"marginals": [WHOLE, WHOLE | change]})


@pytest.mark.parametrize("name", list(WHOLE))
def test_marginals_without_a_part_are_refused(name: str) -> None:
    assert damaged({"marginals": [{key: value for key, value in WHOLE.items() if key != name}]})


@pytest.mark.parametrize("content", [{"arrays": []}, {"arrays": None}, {"marginals": {}}, {"marginals": None}, {}])
def test_content_of_another_form_is_refused(content: dict[str, Any]) -> None:
    assert damaged(content)


@pytest.mark.parametrize(
    "content",
    [
        {"arrays": {}, "columns": []},
        {"marginals": [WHOLE], "columns": []},
        {"marginals": [WHOLE], "arrays": {"w": [[1], EIGHT]}},
        {"marginals": [], "arrays": {}, "columns": []},
    ],
)
def test_an_answer_holds_one_kind_of_content(content: dict[str, Any]) -> None:
    assert damaged(content)
