"""Model cards: what a model was made of, what it promises, and what it is not for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalenius.learn.models import PrivateModel

_NOT_FOR = (
    "It says nothing certain about a person whose row was in the data, and must not be used to look for one.",
    "Its weights are noisy: a small weight may be noise alone.",
    "Values outside the declared bounds were moved to them, and rows with labels that are not listed left out.",
)

_OF_ARRAYS = ("epsilon", "delta", "neighbours")  # of a table the guarantee says them


@dataclass(frozen=True)
class ModelCard:
    """A card, in lines of Markdown."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return str(self)


def card(model: PrivateModel) -> ModelCard:
    """The card of a fitted model."""
    encoder = getattr(model, "encoder_", None)
    unused = _OF_ARRAYS if encoder else ()
    stated = model.get_params(deep=False).items()
    settings = {name: value for name, value in stated if value is not None and name not in unused}
    classes = getattr(model, "classes_", None)
    lines = [f"# {type(model).__name__}", "", f"- Guarantee: {model.guarantee_}"]
    lines += [f"- Features: {model.n_features_in_}" + (f" ({', '.join(encoder.names)})" if encoder else "")]
    lines += [f"- Labels: {', '.join(map(str, classes))}"] if classes is not None else []
    lines += [f"- Settings: {_listed(settings)}"]
    chosen = getattr(model, "best_params_", None)
    lines += [f"- Chosen: {_listed(chosen)}"] if chosen is not None else []
    lines += [f"- Released: {', '.join(f'{name} ({array.size} numbers)' for name, array in model.learnt_.items())}"]
    return ModelCard((*lines, "", "Not for:", "", *(f"- {line}" for line in _NOT_FOR)))


def _listed(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())
