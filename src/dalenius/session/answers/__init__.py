"""Noisy tables for people and programs."""
