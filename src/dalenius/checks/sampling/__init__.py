"""Audits: what can be shown about a release by running it."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.checks.sampling.experiment import exact_views as exact_views
    from dalenius.checks.sampling.experiment import sampled_view as sampled_view
    from dalenius.checks.sampling.reporting import AuditReport as AuditReport
    from dalenius.checks.sampling.reporting import audit as audit
    from dalenius.checks.sampling.sampling import Violation as Violation
    from dalenius.checks.sampling.sampling import sampling_audit as sampling_audit

_HOMES = {
    "AuditReport": "reporting",
    "Violation": "sampling",
    "audit": "reporting",
    "exact_views": "experiment",
    "sampled_view": "experiment",
    "sampling_audit": "sampling",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
