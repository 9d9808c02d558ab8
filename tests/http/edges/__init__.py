"""Helpers of the HTTP tests."""
