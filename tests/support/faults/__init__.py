"""Faults for the ledger: a simulated disk, processes that are killed, races and rollbacks."""
