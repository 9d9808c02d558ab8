"""Runs of a team: gateways that take them in, workers that execute them, one queue in between."""
