"""Worktrees: made, adopted, listed and removed without ever losing work."""
