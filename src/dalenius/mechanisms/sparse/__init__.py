"""Sparse vectors."""
