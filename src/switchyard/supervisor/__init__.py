"""One small process per project: it starts, watches and restarts services, and forwards ports."""
