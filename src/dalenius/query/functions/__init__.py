"""Every scalar function: its domain, its meaning in Python, and what a true condition says about columns."""
