"""A fit shows how far it has come: to a function, as a bar where somebody watches, and else to nobody."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from clinics import clinic
from dalenius.checks.training.arrays import ordinary
from dalenius.checks.training.forms import FORMS, Form, shortened
from dalenius.errors import InvalidParameter
from dalenius.learn import KMeans, MeanEstimator
from dalenius.session.progress import bar, bar_of

ROWS = ordinary()
WATCHED = [form for form in FORMS if not form.free]


class Screen(io.StringIO):
    """A terminal that somebody looks at."""

    letters = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.letters


@contextmanager
def somebody() -> Iterator[Screen]:
    """Standard error goes to a screen. (Not a fixture: those end before what a test writes is captured anew.)"""
    with patch.object(sys, "stderr", Screen()) as made:
        yield made


@pytest.mark.parametrize("form", WATCHED, ids=str)
def test_every_estimator_shows_a_bar_where_somebody_watches(form: Form) -> None:
    model = form.made(**next(form.ways(few=True)))
    with shortened(), somebody() as screen:
        model.fit(*ROWS.given(form.learns), progress=True)
    shown = screen.getvalue()
    assert shown.startswith(f"\r{type(model).__name__} ... ▒")
    assert shown.rstrip(" ").endswith("\r"), "the line is empty in the end"


def test_a_bar_grows() -> None:
    with somebody() as screen:
        KMeans(2, bounds=(0, 1)).fit(ROWS.features, progress=True)
    lines = [line for line in screen.getvalue().split("\r") if line.strip()]
    assert lines[0].rstrip().endswith(" 0 %")
    assert lines[-1].rstrip().endswith(f"{'█' * 24} 100 %")
    assert lines == sorted(lines, key=lambda line: line.count("█"))


def test_a_table_is_watched_too() -> None:
    with clinic() as db, somebody() as screen:
        KMeans(2, epsilon=1).fit(db.table("visits"), columns=["age"], progress=True)
    assert "100 %" in screen.getvalue()


@pytest.mark.parametrize("progress", [None, False, True])
def test_where_nobody_watches_nothing_is_shown(progress: Any, capsys: pytest.CaptureFixture[str]) -> None:
    MeanEstimator(bounds=(0, 1)).fit(ROWS.features, progress=progress)
    assert capsys.readouterr() == ("", "")


def test_notebooks_show_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    MeanEstimator(bounds=(0, 1)).fit(ROWS.features, progress=True)
    assert "MeanEstimator" in capsys.readouterr().err


def test_a_bar_goes_where_a_fit_is_refused() -> None:
    with somebody() as screen, pytest.raises(InvalidParameter):
        MeanEstimator().fit(ROWS.features, progress=True)
    assert screen.getvalue().endswith("\r")


def test_old_terminals_have_a_bar_of_their_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "letters", "ascii")
    with somebody() as screen, bar_of("work") as show:
        assert show is not None
        show(50)
    assert "############::::::::::::" in screen.getvalue()


def test_without_a_standard_error_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert np.isfinite(MeanEstimator(bounds=(0, 1)).fit(ROWS.features, progress=True).mean_).all()


def test_a_bar_is_never_longer_than_its_line() -> None:
    assert len(bar(100)) == len(bar(250)) <= 30


@pytest.mark.parametrize("progress", ["yes", 1, [print]])
def test_what_cannot_be_told_is_refused(progress: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"progress.*True for a bar"):
        MeanEstimator(bounds=(0, 1)).fit(ROWS.features, progress=progress)
