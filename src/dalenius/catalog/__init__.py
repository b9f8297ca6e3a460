"""What an owner declares: populations, tables, units and grants; and the folder that it lies in."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.catalog.catalog import Catalog as Catalog

_HOMES = {
    "Catalog": "catalog",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
