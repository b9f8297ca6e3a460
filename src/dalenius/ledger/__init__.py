"""The ledger: what may be spent, what was charged to whom, and what it bought. Append-only, chained and durable."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.ledger.accounts import Rate as Rate
    from dalenius.ledger.accounts import Receipt as Receipt
    from dalenius.ledger.ledger import Ledger as Ledger

_HOMES = {
    "Ledger": "ledger",
    "Rate": "accounts",
    "Receipt": "accounts",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
