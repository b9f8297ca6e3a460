"""Boosting for queries: weak synopses, each made for what earlier ones got wrong, answer everything together."""
