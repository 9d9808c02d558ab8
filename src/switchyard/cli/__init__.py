"""The command line: one table of verbs, one module per group, one renderer."""
