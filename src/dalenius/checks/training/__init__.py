"""Fits of every estimator on neighbours that hurt: replayed, and run very often with a canary among the rows."""
