"""SQL text to syntax, node by node from a list."""
