"""Audits: what can be shown about a release by running it.

The room can be called: `dalenius.audit(release, first, second, claim=...)` is `audit.reporting.audit`.
"""

import sys
from inspect import Signature, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.audit.experiment import exact_views as exact_views
    from dalenius.audit.experiment import sampled_view as sampled_view
    from dalenius.audit.reporting import AuditReport as AuditReport
    from dalenius.audit.sampling import Finding as Finding
    from dalenius.audit.sampling import sampling_audit as sampling_audit

__getattr__, __dir__ = names(
    __name__,
    {
        "AuditReport": "reporting",
        "Finding": "sampling",
        "exact_views": "experiment",
        "sampled_view": "experiment",
        "sampling_audit": "sampling",
    },
)


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """See `audit.reporting.audit`."""
        return self.reporting.audit(*arguments, **options)

    @property
    def __signature__(self) -> Signature:
        return signature(self.reporting.audit)


sys.modules[__name__].__class__ = _Room
