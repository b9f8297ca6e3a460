"""Audits: what can be shown about a release by running it."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.audit.experiment import exact_views as exact_views
    from dalenius.audit.experiment import sampled_view as sampled_view
    from dalenius.audit.sampling import Finding as Finding
    from dalenius.audit.sampling import sampling_audit as sampling_audit

__getattr__, __dir__ = names(
    __name__,
    {
        "Finding": "sampling",
        "exact_views": "experiment",
        "sampled_view": "experiment",
        "sampling_audit": "sampling",
    },
)
