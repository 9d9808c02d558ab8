"""Asking the supervisor of a project, and starting it when it is needed."""
