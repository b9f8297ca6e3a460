"""Catalog, ledger, door and sessions: who may ask, who pays, and the one way to an answer."""
