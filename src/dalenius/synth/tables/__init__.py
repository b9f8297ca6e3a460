"""Synthetic tables: marginals are chosen and measured privately, and a model that fits them answers for the table."""
