"""Dalenius: a private database. It answers questions about everyone and about no one.

The names below are what a newcomer needs; they load on first use. Everything else is in a room, which loads as an
attribute: `dl.mechanisms`, `dl.learn`, `dl.textbook`, `dl.accounting`; `dl.aggregates` has all that a question can
ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.accounting.budget import Budget as Budget
    from dalenius.checks.sampling.reporting import audit as audit
    from dalenius.errors import DaleniusError as DaleniusError
    from dalenius.ledger.accounts import Rate as Rate
    from dalenius.privacy.neighbours import AddRemove as AddRemove
    from dalenius.privacy.neighbours import Replace as Replace
    from dalenius.query.frames.aggregates import count as count
    from dalenius.query.frames.aggregates import count_distinct as count_distinct
    from dalenius.query.frames.aggregates import histogram as histogram
    from dalenius.query.frames.aggregates import maximum as maximum
    from dalenius.query.frames.aggregates import mean as mean
    from dalenius.query.frames.aggregates import median as median
    from dalenius.query.frames.aggregates import minimum as minimum
    from dalenius.query.frames.aggregates import mode as mode
    from dalenius.query.frames.aggregates import quantile as quantile
    from dalenius.query.frames.aggregates import stddev as stddev
    from dalenius.query.frames.aggregates import total as total
    from dalenius.query.frames.formulas import col as col
    from dalenius.query.frames.formulas import lit as lit
    from dalenius.query.frames.formulas import when as when
    from dalenius.query.tables import EachRow as EachRow
    from dalenius.query.tables import ForeignKey as ForeignKey
    from dalenius.query.types import Bool as Bool
    from dalenius.query.types import Category as Category
    from dalenius.query.types import Date as Date
    from dalenius.query.types import Int as Int
    from dalenius.query.types import Real as Real
    from dalenius.query.types import Text as Text
    from dalenius.query.types import Timestamp as Timestamp
    from dalenius.server.client.connecting import connect as connect
    from dalenius.session.answers.answers import Answer as Answer
    from dalenius.session.databases import Database as Database
    from dalenius.session.databases import create as create
    from dalenius.session.databases import open as open  # noqa: A004
    from dalenius.session.sessions import Analyst as Analyst
    from dalenius.synth.tables.families import FamilySynthesizer as FamilySynthesizer
    from dalenius.synth.tables.synthesizer import Synthesizer as Synthesizer

__version__ = "0.1.0"

_HOMES = {
    "AddRemove": "privacy.neighbours",
    "Analyst": "session.sessions",
    "Answer": "session.answers.answers",
    "Bool": "query.types",
    "Budget": "accounting.budget",
    "Category": "query.types",
    "DaleniusError": "errors",
    "Database": "session.databases",
    "Date": "query.types",
    "EachRow": "query.tables",
    "FamilySynthesizer": "synth.tables.families",
    "Int": "query.types",
    "Rate": "ledger.accounts",
    "Real": "query.types",
    "Replace": "privacy.neighbours",
    "Synthesizer": "synth.tables.synthesizer",
    "Text": "query.types",
    "Timestamp": "query.types",
    "ForeignKey": "query.tables",
    "audit": "checks.sampling.reporting",
    "col": "query.frames.formulas",
    "connect": "server.client.connecting",
    "count": "query.frames.aggregates",
    "count_distinct": "query.frames.aggregates",
    "create": "session.databases",
    "histogram": "query.frames.aggregates",
    "lit": "query.frames.formulas",
    "maximum": "query.frames.aggregates",
    "mean": "query.frames.aggregates",
    "median": "query.frames.aggregates",
    "minimum": "query.frames.aggregates",
    "mode": "query.frames.aggregates",
    "open": "session.databases",
    "quantile": "query.frames.aggregates",
    "stddev": "query.frames.aggregates",
    "total": "query.frames.aggregates",
    "when": "query.frames.formulas",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, {**_HOMES, "aggregates": "query.frames.aggregates"})
