"""Boosted trees of one feature each: scores that add up, and can be looked at."""
