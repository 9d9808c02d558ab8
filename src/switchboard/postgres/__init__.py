"""PostgreSQL for a team: connections, the growth of a schema, and being told of changes."""
