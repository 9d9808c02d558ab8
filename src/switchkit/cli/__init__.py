"""The command-line kit: what a verb takes, its help, its completion, and text for people."""
