"""PostgreSQL: tables are read where they stay, in read-only transactions."""
