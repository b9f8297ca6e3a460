"""How fast and how good: `make bench` measures everything in one run and writes benchmarks/results.md."""
