"""Models as files: plain JSON with what was learnt and the public facts; nothing in them is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.budget import Budget
from dalenius.learn.budgets import Guarantee
from dalenius.learn.encoding import Scale
from dalenius.learn.models import PrivateModel
from dalenius.learn.tables import Encoder
from dalenius.privacy.numbers import format_number
from dalenius.synth.tables import saved
from dalenius.tabular.written import array_from, array_text

KIND = "private model"
_SCALES = ("_scale", "_target_scale")


def save(model: PrivateModel, path: str | Path) -> None:
    """Write a fitted model into a file."""
    saved.save(path, KIND, _facts(model))


def load(path: str | Path) -> PrivateModel:
    """The model that a file holds; refused where it is another file, a later one, or damaged."""
    return saved.load(path, KIND, _model)


def _facts(model: PrivateModel) -> dict[str, Any]:
    encoder = getattr(model, "encoder_", None)
    return {
        **_settings(model),
        "width": int(model.n_features_in_),
        "classes": _written(getattr(model, "classes_", None)),
        "scales": {name: _scale(getattr(model, name)) for name in _SCALES if hasattr(model, name)},
        "columns": None if encoder is None else saved.axes_facts(encoder.axes),
        "learnt": {name: _array(array) for name, array in model.learnt_.items()},
        "guarantee": asdict(model.guarantee_),
    }


def _model(facts: Mapping[str, Any]) -> PrivateModel:
    model = _unfitted(facts)
    model.n_features_in_ = int(facts["width"])
    if facts["classes"] is not None:
        model.classes_ = np.asarray(_read(facts["classes"]))
    for name, (lower, upper) in facts["scales"].items():
        if name not in _SCALES:
            raise ValueError("scale")
        setattr(model, name, Scale(np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)))
    if facts["columns"] is not None:
        model.encoder_ = Encoder(saved.axes_from(facts["columns"]))
    model.guarantee_ = Guarantee(**facts["guarantee"])
    return model._made({name: array_from(text, shape) for name, (shape, text) in facts["learnt"].items()})


def _settings(model: PrivateModel) -> dict[str, Any]:
    written = {name: _written(value) for name, value in model.get_params(deep=False).items()}
    return {"model": type(model).__name__, "parameters": written}


def _unfitted(facts: Mapping[str, Any]) -> PrivateModel:
    made = getattr(import_module("dalenius.learn"), facts["model"])
    if not (isinstance(made, type) and issubclass(made, PrivateModel)):
        raise ValueError("model")
    return made(**{name: _read(value) for name, value in facts["parameters"].items()})


def _array(array: NDArray[Any]) -> tuple[list[int], str]:
    return list(array.shape), array_text(array)


def _scale(scale: Scale) -> tuple[list[float], list[float]]:
    return scale.lower.tolist(), scale.upper.tolist()


def _written(value: Any) -> Any:
    """A parameter as JSON holds it; a tuple, array, mapping, budget or model that is not fitted by its parts."""
    if isinstance(value, PrivateModel):
        return {"model": _settings(value)}
    if isinstance(value, Mapping):
        return {"mapping": {str(name): _written(part) for name, part in value.items()}}
    if isinstance(value, Budget):
        return {"budget": [str(format_number(value.epsilon)), str(format_number(value.delta))]}
    if isinstance(value, tuple | list | np.ndarray):
        return {"list": [_written(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    return {"fraction" if isinstance(value, Fraction) else "text": str(value)}


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "budget":
        return Budget(*inside)
    if kind == "model":
        return _unfitted(inside)
    if kind == "fraction":
        return Fraction(inside)
    if kind == "mapping":
        return {name: _read(part) for name, part in inside.items()}
    return tuple(map(_read, inside)) if kind == "list" else inside
