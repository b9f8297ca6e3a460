"""Publish once, answer for ever: workloads, query release and synthetic tables."""
