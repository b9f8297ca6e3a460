"""Syntax and catalog to a question, or a refusal."""
