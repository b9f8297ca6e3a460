"""Cells, bins and workloads of a table, shared by everything that publishes or learns from one."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.tabular.domains import CellDomain as CellDomain
    from dalenius.tabular.workloads import Marginals as Marginals
    from dalenius.tabular.workloads import MatrixWorkload as MatrixWorkload
    from dalenius.tabular.workloads import Product as Product
    from dalenius.tabular.workloads import Ranges as Ranges
    from dalenius.tabular.workloads import Workload as Workload
    from dalenius.tabular.workloads import parities as parities
    from dalenius.tabular.workloads import points as points

_HOMES = {
    "CellDomain": "domains",
    "Marginals": "workloads",
    "MatrixWorkload": "workloads",
    "Product": "workloads",
    "Ranges": "workloads",
    "Workload": "workloads",
    "parities": "workloads",
    "points": "workloads",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
