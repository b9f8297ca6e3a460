"""Processes that work for the server."""
