"""Mechanisms that find which keys may be shown."""
