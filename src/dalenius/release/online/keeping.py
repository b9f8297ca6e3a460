"""Where the hypotheses of online sessions are kept. They are public: a lost or damaged one costs accuracy alone."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dalenius.curator.curator import Curator
from dalenius.curator.folder.files import make_folder, replace_text
from dalenius.curator.ledger.ledger import Ledger
from dalenius.errors import InvalidParameter
from dalenius.release.axes import Axis
from dalenius.release.online.public import PublicCounts

NAME = "online"
_IN_MEMORY: WeakKeyDictionary[Ledger, dict[str, PublicCounts]] = WeakKeyDictionary()


def keep(curator: Curator, counts: PublicCounts) -> None:
    """Keep a hypothesis under its receipt: in the database's folder, for its owner's eyes, or in memory."""
    if curator.folder is None:
        _IN_MEMORY.setdefault(curator.ledger, {})[counts.receipt] = counts
        return
    place = curator.folder.path / NAME
    make_folder(place)
    replace_text(place / f"{counts.receipt}.json", counts.to_text())


def kept(curator: Curator, receipt: str, axes: tuple[Axis, ...]) -> PublicCounts | None:
    """The hypothesis that was kept under a receipt, if it is there, whole, and about these axes."""
    if curator.folder is None:
        return _IN_MEMORY.get(curator.ledger, {}).get(receipt)
    try:
        found = PublicCounts.load(curator.folder.path / NAME / f"{receipt}.json")
    except (OSError, UnicodeDecodeError, InvalidParameter):
        return None
    return found if found.axes == axes and found.receipt == receipt else None
