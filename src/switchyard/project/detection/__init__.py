"""What runs in a project, judged by its files, for a first `switchyard.toml`."""
