"""The demo: the whole loop on real data."""
