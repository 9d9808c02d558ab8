"""Boards of other worktrees, for sessions that move to them."""
