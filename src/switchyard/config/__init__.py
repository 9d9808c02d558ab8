"""`switchyard.toml`: its shape, its reader, its dependency graph."""

FILE_NAME = "switchyard.toml"
