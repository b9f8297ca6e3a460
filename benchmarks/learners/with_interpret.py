"""Additive trees, by interpret's differentially private boosting machine."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier

VERSION = version("interpret-core")


def trees(data: dict[str, np.ndarray], epsilon: float, delta: str) -> Callable[[], Any]:
    numbers = len(data["adult_numbers"].T)
    kinds = ["continuous"] * numbers + ["nominal"] * data["adult_choices"].shape[1]
    model = DPExplainableBoostingClassifier(
        feature_types=kinds,
        privacy_bounds=dict.fromkeys(range(numbers), (0.0, 1.0)),
        epsilon=epsilon,
        delta=float(delta),
        n_jobs=1,
    )
    rows, others = _mixed(data, ""), _mixed(data, "_test")
    model.fit(rows, data["adult_target"])
    return lambda: model.predict_proba(others)[:, 1] - 0.5


def _mixed(data: dict[str, np.ndarray], part: str) -> np.ndarray:
    """Numbers as they are, and choices as texts."""
    numbers, choices = data[f"adult_numbers{part}"].astype(object), data[f"adult_choices{part}"]
    return np.hstack([numbers, choices.astype(str).astype(object)])


TASKS = {"trees": trees}
