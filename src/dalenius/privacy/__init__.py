"""The vocabulary of privacy: neighbours, sensitivities, losses; and calculators for divergences and tail bounds."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.privacy.distributions import Distribution as Distribution
    from dalenius.privacy.divergences import approximate_max_divergence as approximate_max_divergence
    from dalenius.privacy.divergences import epsilon_distance as epsilon_distance
    from dalenius.privacy.divergences import hockey_stick as hockey_stick
    from dalenius.privacy.divergences import is_private as is_private
    from dalenius.privacy.divergences import kl_divergence as kl_divergence
    from dalenius.privacy.divergences import max_divergence as max_divergence
    from dalenius.privacy.divergences import privacy_loss as privacy_loss
    from dalenius.privacy.divergences import statistical_distance as statistical_distance
    from dalenius.privacy.exact import Exact as Exact
    from dalenius.privacy.group import group_privacy as group_privacy
    from dalenius.privacy.loss_distribution import LossDistribution as LossDistribution
    from dalenius.privacy.loss_distribution import RandomizedBits as RandomizedBits
    from dalenius.privacy.losses import ZCDP as ZCDP
    from dalenius.privacy.losses import ApproximateDP as ApproximateDP
    from dalenius.privacy.losses import BoundedRange as BoundedRange
    from dalenius.privacy.losses import LaplaceDP as LaplaceDP
    from dalenius.privacy.losses import Loss as Loss
    from dalenius.privacy.losses import PureDP as PureDP
    from dalenius.privacy.losses import RenyiCurve as RenyiCurve
    from dalenius.privacy.neighbours import AddRemove as AddRemove
    from dalenius.privacy.neighbours import Neighbours as Neighbours
    from dalenius.privacy.neighbours import Replace as Replace
    from dalenius.privacy.promises import default_delta as default_delta
    from dalenius.privacy.promises import delta_warning as delta_warning
    from dalenius.privacy.promises import statement as statement
    from dalenius.privacy.sensitivity import Sensitivity as Sensitivity
    from dalenius.privacy.utility import utility_bounds as utility_bounds
    from dalenius.privacy.worst_case import global_sensitivity as global_sensitivity
    from dalenius.privacy.worst_case import utility_sensitivity as utility_sensitivity
    from dalenius.privacy.worst_case import worst_delta as worst_delta

__getattr__, __dir__ = names(
    __name__,
    {
        "AddRemove": "neighbours",
        "ApproximateDP": "losses",
        "BoundedRange": "losses",
        "Distribution": "distributions",
        "Exact": "exact",
        "LaplaceDP": "losses",
        "Loss": "losses",
        "LossDistribution": "loss_distribution",
        "Neighbours": "neighbours",
        "PureDP": "losses",
        "RandomizedBits": "loss_distribution",
        "RenyiCurve": "losses",
        "Replace": "neighbours",
        "Sensitivity": "sensitivity",
        "ZCDP": "losses",
        "approximate_max_divergence": "divergences",
        "default_delta": "promises",
        "delta_warning": "promises",
        "epsilon_distance": "divergences",
        "global_sensitivity": "worst_case",
        "group_privacy": "group",
        "hockey_stick": "divergences",
        "is_private": "divergences",
        "kl_divergence": "divergences",
        "max_divergence": "divergences",
        "privacy_loss": "divergences",
        "statement": "promises",
        "statistical_distance": "divergences",
        "utility_bounds": "utility",
        "utility_sensitivity": "worst_case",
        "worst_delta": "worst_case",
    },
)
