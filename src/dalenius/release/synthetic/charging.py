"""What an offer buys for work on carried rows."""

from __future__ import annotations

from dataclasses import replace

from dalenius.accounting.amounts import Amount
from dalenius.curator.asking.prices import Offer
from dalenius.release.carrier import Carrier


def charged(carrier: Carrier, offer: Offer) -> dict[str, Amount]:
    """What an offer charges each population; no step has an event that a delta would pay for."""
    offer.require_one()
    bought = carrier.asked.bought(epsilon=offer.epsilon, share=offer.share)
    return {name: replace(amount, delta=0) for name, amount in bought.items()}
