"""A question that nobody has paid for yet: what it costs, is worth and looks like."""
