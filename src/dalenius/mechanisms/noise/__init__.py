"""Mechanisms that add noise to numbers."""
