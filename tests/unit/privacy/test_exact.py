"""An exact value leaves only through measure."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dalenius.errors import InvalidParameter, MissingNeighbours, NeighbourMismatch, SealedValue
from dalenius.mechanisms.noise.histogram import Histogram
from dalenius.privacy.exact import Exact, unseal
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity

SECRET = 424242


def sealed() -> Exact[int]:
    return Exact(SECRET, sensitivity=1, neighbours=AddRemove())


LOOKS: dict[str, Callable[[Exact[int]], object]] = {
    "str": str,
    "format": "{}".format,
    "percent": lambda value: "%s" % value,  # noqa: UP031
    "percent d": lambda value: "%d" % value,  # noqa: UP031
    "bytes": bytes,
    "equal": lambda value: value == SECRET,
    "not equal": lambda value: value != SECRET,
    "less": lambda value: value < SECRET,
    "member": lambda value: value in [SECRET],
    "hash": hash,
    "set": lambda value: {value},
    "bool": bool,
    "if": lambda value: 1 if value else 0,
    "iterate": list,
    "length": len,
    "index": lambda value: value[0],  # type: ignore[index]
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "int": int,
    "float": float,
    "complex": complex,
    "operator.index": operator.index,
    "round": round,
    "array": np.asarray,
    "array of": lambda value: np.array([value], dtype=np.int64),
    "ufunc": lambda value: np.add(value, 1),
    "np.sum": np.sum,
    "add": lambda value: value + 1,
    "radd": lambda value: 1 + value,
    "sum": lambda value: sum([value]),
    "abs": abs,
    "range": range,
    "chr": chr,
    "vars": vars,
    "json": json.dumps,
    "attribute": lambda value: value.value,  # type: ignore[attr-defined]
    "assign": lambda value: setattr(value, "sensitivity", 0),
    "call": lambda value: value(),  # type: ignore[operator]
    "match": lambda value: [0] * value,  # type: ignore[operator]
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_every_look_inside_is_refused_and_shows_nothing(look: Callable[[Exact[int]], object]) -> None:
    with pytest.raises((TypeError, AttributeError, ValueError)) as caught:
        look(sealed())
    assert str(SECRET) not in str(caught.value)


def test_repr_says_what_it_is_and_not_what_it_holds() -> None:
    assert "sealed" in repr(sealed())
    assert str(SECRET) not in repr(sealed())
    assert repr(sealed()) == repr(Exact(0, sensitivity=1, neighbours=AddRemove()))


def test_mapping_keeps_the_seal_and_states_the_new_sensitivity() -> None:
    doubled = sealed().map(lambda value: 2 * value, sensitivity=2)
    assert doubled.sensitivity.l1 == 2
    with pytest.raises(SealedValue):
        int(doubled)  # type: ignore[call-overload]


def test_a_missing_relation_or_bad_sensitivity_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        Exact(1, sensitivity=1)
    with pytest.raises(InvalidParameter):
        Exact(1, sensitivity=-1, neighbours=AddRemove())
    with pytest.raises(InvalidParameter):
        Exact(1, sensitivity=float("nan"), neighbours=AddRemove())


@pytest.mark.parametrize("value", [[1, 2], (1,), np.array([1, 2]), "text"])
def test_a_vector_must_say_in_which_norm_it_is_bounded(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"Sensitivity\(l1=1\)"):
        Exact(value, sensitivity=1, neighbours=AddRemove())
    Exact(value, sensitivity=Sensitivity(l1=Fraction(1)), neighbours=AddRemove())


def test_a_sensitivity_that_was_stated_for_other_neighbours_is_refused() -> None:
    cells = Histogram(("a", "b"))
    with pytest.raises(NeighbourMismatch):
        Exact([1, 2], sensitivity=cells.sensitivity(AddRemove()), neighbours=Replace())
    same = Exact([1, 2], sensitivity=cells.sensitivity(AddRemove()), neighbours=AddRemove())
    with pytest.raises(NeighbourMismatch):
        same.map(list, sensitivity=cells.sensitivity(Replace()))


def test_only_measure_opens_it() -> None:
    source = Path(__file__).resolve().parents[3] / "src" / "dalenius"
    users = {
        (path.relative_to(source).as_posix(), word)
        for path in source.rglob("*.py")
        for word in ("unseal(", "import Exact, unseal", "import unseal", "_Exact__value")
        if word in path.read_text()
    }
    assert users == {
        ("privacy/exact.py", "unseal("),
        ("privacy/exact.py", "_Exact__value"),
        ("mechanisms/door.py", "unseal("),
        ("mechanisms/door.py", "import Exact, unseal"),
    }


def test_several_sealed_values_are_one_that_is_sealed_too() -> None:
    one, other = sealed(), sealed()
    both = Exact.together([one, other], sensitivity=Sensitivity(l1=3))
    assert both.sensitivity.l1 == 3
    assert unseal(both.map(sum, sensitivity=3)) == 2 * SECRET
    with pytest.raises(SealedValue):
        str(both)
    with pytest.raises(NeighbourMismatch):
        Exact.together([one, Exact(4, sensitivity=2, neighbours=Replace())], sensitivity=Sensitivity(l1=3))
    with pytest.raises(InvalidParameter):
        Exact.together([], sensitivity=Sensitivity(l1=3))
