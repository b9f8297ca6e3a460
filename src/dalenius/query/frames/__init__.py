"""Questions written in Python."""
