"""Ways out of the product, as texts: where an analyst could write one, and what it would have to reach."""
