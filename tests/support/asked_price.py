"""The price of a question that nobody pays for, with its mechanisms."""

from __future__ import annotations

from dalenius.measuring.pricing import Priced
from dalenius.session.offers import Offer
from dalenius.session.query import Query


def priced(query: Query, offer: Offer) -> Priced:
    """What an offer buys, as the budgets stand."""
    with query._principal.paying(query.question) as payer:
        return query._priced(offer, payer)
