"""Release cards: what a release promises, what it cost and how it was made, for whoever reads it."""
