"""Mechanisms that choose."""
