"""Which folder a server starts in, and which home counts."""
