"""Clusters: k-means from noisy counts and sums."""
