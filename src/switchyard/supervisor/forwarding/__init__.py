"""Ports and names that point to a branch: listening, choosing, forwarding bytes."""
