"""Runs in SQLite."""
