"""`switchyard.toml`: its shape, its reader, its dependency graph."""
