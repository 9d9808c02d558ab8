"""Figures of one process of a team, for Prometheus. Loaded by those alone that show them."""
