"""How plans are spelled in SQL: once for all engines, over a dialect that says what differs."""
