"""Where plans run: how they are spelled for an engine, and a plain reference in Python."""
