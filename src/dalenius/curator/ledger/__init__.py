"""The ledger: what may be spent, what was charged to whom, and what it bought. Append-only, chained and durable."""
