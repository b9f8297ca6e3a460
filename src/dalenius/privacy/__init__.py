"""The vocabulary of privacy: neighbours, sensitivities, losses; and calculators for divergences and tail bounds."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.privacy import tails as tails
    from dalenius.privacy.divergences import Distribution as Distribution
    from dalenius.privacy.divergences import approximate_max_divergence as approximate_max_divergence
    from dalenius.privacy.divergences import epsilon_distance as epsilon_distance
    from dalenius.privacy.divergences import hockey_stick as hockey_stick
    from dalenius.privacy.divergences import is_private as is_private
    from dalenius.privacy.divergences import kl_bound as kl_bound
    from dalenius.privacy.divergences import kl_divergence as kl_divergence
    from dalenius.privacy.divergences import loss_exceeds as loss_exceeds
    from dalenius.privacy.divergences import max_divergence as max_divergence
    from dalenius.privacy.divergences import privacy_loss as privacy_loss
    from dalenius.privacy.divergences import statistical_distance as statistical_distance
    from dalenius.privacy.exact import Exact as Exact
    from dalenius.privacy.group import Statement as Statement
    from dalenius.privacy.group import default_delta as default_delta
    from dalenius.privacy.group import delta_warning as delta_warning
    from dalenius.privacy.group import group_delta as group_delta
    from dalenius.privacy.group import group_privacy as group_privacy
    from dalenius.privacy.group import statement as statement
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
    from dalenius.privacy.sensitivity import Sensitivity as Sensitivity

_HOMES = {
    "AddRemove": "neighbours",
    "ApproximateDP": "losses",
    "BoundedRange": "losses",
    "Distribution": "divergences",
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
    "Statement": "group",
    "ZCDP": "losses",
    "approximate_max_divergence": "divergences",
    "default_delta": "group",
    "delta_warning": "group",
    "epsilon_distance": "divergences",
    "group_delta": "group",
    "group_privacy": "group",
    "hockey_stick": "divergences",
    "is_private": "divergences",
    "kl_bound": "divergences",
    "kl_divergence": "divergences",
    "loss_exceeds": "divergences",
    "max_divergence": "divergences",
    "privacy_loss": "divergences",
    "statement": "group",
    "statistical_distance": "divergences",
    "tails": "tails",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
