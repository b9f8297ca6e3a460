"""What releases cost together: composition, conversion, calibration, budgets, filters and odometers."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.accounting.allowance import Allowance as Allowance
    from dalenius.accounting.amounts import Charge as Charge
    from dalenius.accounting.amounts import price as price
    from dalenius.accounting.budget import Budget as Budget
    from dalenius.accounting.budget import RenyiFilter as RenyiFilter
    from dalenius.accounting.calibration import affordable as affordable
    from dalenius.accounting.calibration import gaussian_variance as gaussian_variance
    from dalenius.accounting.calibration import laplace_scale as laplace_scale
    from dalenius.accounting.calibration import largest_rho as largest_rho
    from dalenius.accounting.calibration import per_use_epsilon as per_use_epsilon
    from dalenius.accounting.calibration import textbook_epsilon as textbook_epsilon
    from dalenius.accounting.composition import DataPartition as DataPartition
    from dalenius.accounting.composition import advanced_composition as advanced_composition
    from dalenius.accounting.composition import basic_composition as basic_composition
    from dalenius.accounting.composition import compose as compose
    from dalenius.accounting.composition import optimal_composition as optimal_composition
    from dalenius.accounting.composition import optimal_delta as optimal_delta
    from dalenius.accounting.composition import parallel_composition as parallel_composition
    from dalenius.accounting.composition import repeated as repeated
    from dalenius.accounting.composition import tight_advanced_composition as tight_advanced_composition
    from dalenius.accounting.conversion import to_approximate as to_approximate
    from dalenius.accounting.conversion import to_delta as to_delta
    from dalenius.accounting.conversion import to_pure as to_pure
    from dalenius.accounting.conversion import to_renyi as to_renyi
    from dalenius.accounting.conversion import to_zcdp as to_zcdp
    from dalenius.accounting.filters import Odometer as Odometer
    from dalenius.accounting.filters import PrivacyFilter as PrivacyFilter
    from dalenius.accounting.shares import gaussian_split as gaussian_split
    from dalenius.accounting.shares import laplace_split as laplace_split
    from dalenius.accounting.shares import split_amount as split_amount
    from dalenius.accounting.shares import uniform_split as uniform_split

_HOMES = {
    "Allowance": "allowance",
    "Budget": "budget",
    "Charge": "amounts",
    "DataPartition": "composition",
    "Odometer": "filters",
    "PrivacyFilter": "filters",
    "RenyiFilter": "budget",
    "advanced_composition": "composition",
    "affordable": "calibration",
    "basic_composition": "composition",
    "compose": "composition",
    "gaussian_split": "shares",
    "gaussian_variance": "calibration",
    "laplace_scale": "calibration",
    "laplace_split": "shares",
    "largest_rho": "calibration",
    "optimal_composition": "composition",
    "optimal_delta": "composition",
    "parallel_composition": "composition",
    "per_use_epsilon": "calibration",
    "price": "amounts",
    "repeated": "composition",
    "split_amount": "shares",
    "textbook_epsilon": "calibration",
    "tight_advanced_composition": "composition",
    "to_approximate": "conversion",
    "to_delta": "conversion",
    "to_pure": "conversion",
    "to_renyi": "conversion",
    "to_zcdp": "conversion",
    "uniform_split": "shares",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
