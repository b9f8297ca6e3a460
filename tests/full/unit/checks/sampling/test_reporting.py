"""The dear tests of `unit/checks/sampling/test_reporting.py`."""

from __future__ import annotations

from tests.unit.checks.sampling.test_reporting import judged, once


def test_single_outputs_of_any_kind_are_audited() -> None:
    draw = once("3")
    forms = [
        lambda value: "high" if draw(value) > 0 else None,
        lambda value: {"answer": draw(value), "unit": "people"},
        lambda value: (draw(value), [None, "x"]),
        lambda value: 1 / (draw(value) > 0),
    ]
    for form in forms:
        assert judged(form, 1, samples=3000).refuted
        assert not judged(form, 3, samples=3000).refuted
