"""Ports and names that lead to a branch: listening, choosing, passing bytes on."""
