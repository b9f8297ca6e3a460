"""A question as it was asked, before names and types are known."""
