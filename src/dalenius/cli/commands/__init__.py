"""What the commands do, a file a group; each loads when it is called, so that help and completion stay quick."""

from __future__ import annotations

from dalenius.lazy import names

__getattr__, __dir__ = names(
    __name__,
    {
        "add_population": "folders",
        "add_table": "importing",
        "ask": "questions",
        "card": "registries",
        "check": "checks",
        "completion": "showing",
        "cost": "questions",
        "demo": "showing",
        "explain": "questions",
        "grant": "people",
        "grants": "people",
        "init": "folders",
        "ledger": "ledgers",
        "partition": "folders",
        "registry": "registries",
        "rehearse": "questions",
        "remove_table": "importing",
        "replays": "registries",
        "revoke": "people",
        "serve": "serving",
        "study": "people",
        "study_card": "registries",
        "tables": "folders",
        "token": "people",
        "update_table": "importing",
    },
)
