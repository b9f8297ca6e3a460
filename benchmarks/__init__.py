"""How fast and how good: `make bench` measures everything and writes benchmarks/results/."""
