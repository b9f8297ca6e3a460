"""The meaning of plans in plain Python, for comparison."""
