"""The audit log of a team in PostgreSQL: one chain for each replica, anchored in each other."""
