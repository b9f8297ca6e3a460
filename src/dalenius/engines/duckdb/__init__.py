"""DuckDB, embedded and locked down."""
