"""The dear tests of `unit/synth/test_blockwise.py`."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import pytest

from clinics import clinic
from dalenius.sandbox import confinement
from dalenius.sandbox.sandbox import Sandbox
from dalenius.synth import Subsample
from tests.unit.synth import test_blockwise
from tests.unit.synth.test_blockwise import QUICK, mean_age

pytestmark = pytest.mark.skipif(not confinement.supported(), reason="confining a process needs Linux")
_no_padding = test_blockwise._no_padding


@pytest.fixture
def padded() -> None:
    """Slots are waited for."""


def test_blocks_that_fail_or_loop_look_and_take_like_others(padded: None) -> None:
    def failing(rows: list[Any]) -> float:
        raise ValueError(rows)

    def endless(rows: list[Any]) -> float:
        while True:
            pass

    taken, short = {}, {**QUICK, "seconds": "0.05"}
    for name, function in {"fine": mean_age, "failing": failing, "endless": endless}.items():
        with clinic() as db:
            started = time.monotonic()
            answer = Subsample(function, **short).run(db.table("visits"), epsilon=1)
            taken[name] = time.monotonic() - started
            assert 0 <= answer["value"][0] <= 120
            assert answer.names == ("value",)
    assert min(taken.values()) >= planned_seconds(), "every slot is waited for"


def planned_seconds() -> float:
    return Sandbox(seconds=Fraction(1, 20), megabytes=64).total(4)
