"""Where the process of a server starts, and what it takes from there."""
