"""Strategies for linear workloads: what is measured with noise, so that all answers come out consistent and exact."""
