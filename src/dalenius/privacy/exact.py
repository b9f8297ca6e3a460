"""`Exact`: a value computed from private rows, sealed until noise has been added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, Generic, NoReturn, TypeVar

from dalenius.errors import FunctionFailed, InvalidParameter, SealedValue
from dalenius.privacy.neighbours import Neighbours, require_same, stated
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike

T = TypeVar("T")
U = TypeVar("U")

_SAY_THE_NORM = "a Sensitivity that names its norm, such as Sensitivity(l1=1), for anything but a single number"


class Exact(Generic[T]):
    """A sealed value with the public facts about it: its sensitivity and the neighbours that this is stated for.

    It cannot be printed, formatted, compared, hashed, iterated, pickled, copied, converted or branched on. Pure
    functions are mapped over it with `map`; it leaves only through `measure`. A plain number as sensitivity is that of
    a single number; a vector needs a `Sensitivity`, because its norms differ. The seal guards honest code against
    mistakes; it is not a sandbox for code that the owner does not trust.
    """

    __slots__ = ("__value", "neighbours", "sensitivity")

    __value: Callable[[], T]
    neighbours: Neighbours
    sensitivity: Sensitivity

    def __init__(self, value: T, *, sensitivity: SensitivityLike, neighbours: Neighbours | None = None) -> None:
        if not isinstance(sensitivity, Sensitivity) and not _is_single(value):
            raise InvalidParameter("sensitivity", sensitivity, allowed=_SAY_THE_NORM)
        self._seal(lambda: value, Sensitivity.of(sensitivity), stated(neighbours))

    def _seal(self, compute: Callable[[], T], sensitivity: Sensitivity, neighbours: Neighbours) -> None:
        if hasattr(self, "neighbours"):
            raise SealedValue("sealing again")
        if sensitivity.neighbours is not None:
            require_same(sensitivity=sensitivity.neighbours, value=neighbours)
        object.__setattr__(self, "_Exact__value", compute)
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "neighbours", neighbours)

    def map(self, function: Callable[[T], U], *, sensitivity: SensitivityLike) -> Exact[U]:
        """The sealed value of `function`, which runs only when it is measured; state how far it can move."""
        inner, of_one = self.__value, not isinstance(sensitivity, Sensitivity)

        def compute() -> U:
            result = function(inner())
            if of_one and not _is_single(result):
                raise TypeError(_SAY_THE_NORM)
            return result

        mapped: Exact[U] = object.__new__(Exact)
        mapped._seal(compute, Sensitivity.of(sensitivity), self.neighbours)
        return mapped

    @staticmethod
    def together(parts: Sequence[Exact[Any]], *, sensitivity: Sensitivity) -> Exact[tuple[Any, ...]]:
        """Several sealed values of the same neighbours as one; state how far all of them together can move."""
        if not parts:
            raise InvalidParameter("parts", "none", allowed="one or more sealed values")
        require_same(**{f"part {place}": part.neighbours for place, part in enumerate(parts)})
        inside = [part.__value for part in parts]
        joined: Exact[tuple[Any, ...]] = object.__new__(Exact)
        joined._seal(lambda: tuple(compute() for compute in inside), sensitivity, parts[0].neighbours)
        return joined

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise SealedValue("assignment")

    def __delattr__(self, name: str) -> NoReturn:
        raise SealedValue("deletion")

    def __repr__(self) -> str:
        return f"<Exact, sealed; {self.sensitivity}, neighbours by {self.neighbours}>"


def unseal(exact: Exact[T]) -> T:
    """The value inside. Only `measure` may call this; a test keeps it so."""
    compute: Callable[[], T] = object.__getattribute__(exact, "_Exact__value")
    interrupted = False
    try:
        return compute()
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
    # Raised out here, so that neither the error nor its text travels along: both can depend on rows.
    raise KeyboardInterrupt if interrupted else FunctionFailed


def _is_single(value: object) -> bool:
    return isinstance(value, Number)


def _refuse(operation: str) -> Callable[..., NoReturn]:
    def refused(self: object, *arguments: Any, **keywords: Any) -> NoReturn:
        raise SealedValue(operation)

    return refused


_FORBIDDEN = {
    "printing": "__str__ __format__ __bytes__ __fspath__",
    "comparing": "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__",
    "hashing": "__hash__",
    "branching": "__bool__",
    "iterating": "__iter__ __next__ __reversed__ __len__ __length_hint__ __getitem__ __missing__ __aiter__ __await__",
    "copying or pickling": "__reduce__ __reduce_ex__ __getstate__ __copy__ __deepcopy__ __sizeof__",
    "conversion": "__int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__ __ceil__ __buffer__",
    "array conversion": "__array__ __array_ufunc__ __array_function__ "
    "__arrow_array__ __arrow_c_array__ __arrow_c_stream__ __dlpack__ __dataframe__",
    "arithmetic": "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ "
    "__rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__ __rmatmul__ __and__ __rand__ __or__ __ror__ "
    "__xor__ __rxor__ __lshift__ __rlshift__ __rshift__ __rrshift__ __neg__ __pos__ __abs__ __invert__ "
    "__divmod__ __rdivmod__",
    "calling": "__call__ __enter__ __exit__",
}
for _operation, _names in _FORBIDDEN.items():
    for _name in _names.split():
        setattr(Exact, _name, _refuse(_operation))
