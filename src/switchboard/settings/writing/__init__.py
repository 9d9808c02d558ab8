"""Files of the configuration that we write: servers that are added, first settings."""
