"""Checks of the system by itself: `dalenius check`."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.checks.sampling.experiment import exact_views as exact_views
    from dalenius.checks.sampling.experiment import sampled_view as sampled_view
    from dalenius.checks.sampling.reporting import audit as audit
    from dalenius.checks.sampling.sampling import sampling_audit as sampling_audit

_HOMES = {
    "audit": "sampling.reporting",
    "exact_views": "sampling.experiment",
    "sampled_view": "sampling.experiment",
    "sampling_audit": "sampling.sampling",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
