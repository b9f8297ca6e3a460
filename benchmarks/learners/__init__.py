"""The tasks of `python -m benchmarks learning`, each library in a process and environment of its own."""
