"""Queries, the one way to their answers, and the sessions of owners and analysts."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.session.answers.answers import Answer as Answer
    from dalenius.session.cards.cards import Card as Card
    from dalenius.session.databases import Database as Database
    from dalenius.session.executor import Executor as Executor
    from dalenius.session.query import Query as Query
    from dalenius.session.registry.registry import Registry as Registry
    from dalenius.session.sessions import Analyst as Analyst

_HOMES = {
    "Analyst": "sessions",
    "Answer": "answers.answers",
    "Card": "cards.cards",
    "Database": "databases",
    "Executor": "executor",
    "Query": "query",
    "Registry": "registry.registry",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
