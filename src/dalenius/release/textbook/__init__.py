"""The textbook's algorithms for query release, each with its accuracy theorem."""
