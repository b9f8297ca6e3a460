"""How accurate a session will be, said before it is paid for: in rows, and how many rows a share of all rows takes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from dalenius.curator.names import fraction
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, whole
from dalenius.release.textbook.online import OnlinePlan

_EXAMPLES = {"10 %": Fraction(1, 10), "1 %": Fraction(1, 100)}
_INSTEAD = "Pay more, plan for fewer updates or questions, count fewer rows of one unit, or give a smaller `within`."


@dataclass(frozen=True)
class Expected:
    """The error bars of a session's answers, in rows at 95 %: of those from the hypothesis, and of measured ones.

    They depend on the price and the terms, and not on the data: the fewer rows there are, the less they say.
    """

    easy: int
    measured: int

    @classmethod
    def of(cls, plan: OnlinePlan) -> Expected:
        easy, measured = plan.bars
        return cls(ceil(easy), ceil(measured))

    @property
    def widest(self) -> int:
        return max(self.easy, self.measured)

    def rows_for(self, share: Fraction) -> int:
        """How many rows there must be for every bar to be at most this share of them."""
        return ceil(self.widest / share)

    def require(self, accuracy: Number | None, total: int | None) -> None:
        """Refuse, before anything is paid, answers that are less accurate than asked for, or that would say nothing."""
        if total is not None and self.widest >= whole(1, total=total):
            said = f"more than {self.widest} rows: so long are error bars at this price"
            raise InvalidParameter("total", total, allowed=said, hint=_INSTEAD)
        if accuracy is None:
            return
        wanted = fraction(accuracy=accuracy)
        if wanted >= 1:
            self._require_rows(wanted)
        else:
            self._require_share(wanted, total)

    def _require_rows(self, wanted: Fraction) -> None:
        if self.widest > wanted:
            raise InvalidParameter(
                "accuracy", wanted, allowed=f"at least {self.widest} rows at this price", hint=_INSTEAD
            )

    def _require_share(self, wanted: Fraction, total: int | None) -> None:
        if wanted <= 0:
            raise InvalidParameter("accuracy", wanted, allowed="a share of all rows such as '5%', or a number of rows")
        needed = self.rows_for(wanted)
        if total is None:
            raise InvalidParameter(
                "total",
                total,
                allowed=f"given with an accuracy that is a share: it takes {needed} rows at this price",
                hint="Say how many rows there are, if that is public, or about how many you expect.",
            )
        if total < needed:
            raise InvalidParameter(
                "total", total, allowed=f"at least {needed} rows for this accuracy at this price", hint=_INSTEAD
            )

    def __str__(self) -> str:
        needed = " and ".join(f"{name} of all rows takes {self.rows_for(share)}" for name, share in _EXAMPLES.items())
        return f"answers will be within ± {self.easy} rows at 95 % (± {self.measured} where measured): {needed}"

    __repr__ = __str__
