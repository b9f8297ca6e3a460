"""The distribution that fits noisy marginals best: a graphical model over the declared columns, in NumPy alone."""
