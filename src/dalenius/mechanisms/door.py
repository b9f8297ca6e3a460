"""The one door: the only function that opens an `Exact`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from dalenius.accounting.allowance import Allowance
from dalenius.errors import FunctionFailed, InvalidParameter, UnusableValue
from dalenius.privacy.exact import Exact, unseal
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.numbers import of_kind
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy

Value_contra = TypeVar("Value_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)
Value = TypeVar("Value")
Output = TypeVar("Output")


class Mechanism(Protocol[Value_contra, Output_co]):
    """What every mechanism is: frozen public facts, the loss of one use, and a randomized release."""

    @property
    def neighbours(self) -> Neighbours:
        """The relation that it is calibrated for."""

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The loss of one release of a value with this sensitivity."""

    def release(self, value: Value_contra, entropy: Entropy, /) -> Output_co:
        """The noisy value."""


class Witness(Protocol):
    """Stands at the door in an audit: it sees what is released, and says what comes out."""

    def released(self, mechanism: Mechanism[Any, Any], exact: Exact[Any], value: Any, entropy: Entropy, /) -> Any:
        """The output of a mechanism on the opened value."""


_witnesses: list[Witness] = []


@contextmanager
def witnessed(witness: Witness) -> Iterator[None]:
    """Let a witness stand at the door of this process during the block, for audits over made-up data.

    It sees exact values, so it is for whoever may see the rows: no question, setting or server brings one here.
    """
    _witnesses.append(witness)
    try:
        yield
    finally:
        _witnesses.remove(witness)


def measure(mechanism: Mechanism[Value, Output], exact: Exact[Value], allowance: Allowance, entropy: Entropy) -> Output:
    """Charge one use of `mechanism` to `allowance`, then release the sealed value through it.

    The charge comes first and stays, whatever happens afterwards; if the allowance does not suffice, nothing is
    opened and nothing is charged.
    """
    of_kind(Exact, exact=exact)
    of_kind(Allowance, allowance=allowance)
    of_kind(Entropy, entropy=entropy)  # type: ignore[type-abstract]
    if not all(hasattr(mechanism, part) for part in ("neighbours", "loss", "release")):
        raise InvalidParameter("mechanism", mechanism, allowed="a mechanism such as DiscreteLaplace.calibrated(...)")
    require_same(mechanism=mechanism.neighbours, value=exact.neighbours, allowance=allowance.neighbours)
    allowance.draw(mechanism.loss(sensitivity=exact.sensitivity))
    return _released(mechanism, exact, entropy)


def _released(mechanism: Mechanism[Value, Output], exact: Exact[Value], entropy: Entropy) -> Output:
    try:
        if _witnesses:
            return _witnesses[-1].released(mechanism, exact, unseal(exact), entropy)  # type: ignore[no-any-return]
        return mechanism.release(unseal(exact), entropy)
    except FunctionFailed:
        raise
    except Exception:  # noqa: S110 - see below
        pass
    # Raised out here: what went wrong, its text and its frames may all depend on rows.
    raise UnusableValue(
        "value",
        f"something that {type(mechanism).__name__} failed on",
        allowed="of the kind that its release takes",
        hint="Call release on made-up data of the same kind to see why.",
    )
