"""Logs of services: their lines, and when those were written."""
