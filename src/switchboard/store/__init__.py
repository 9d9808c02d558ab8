"""What is kept on disk: the audit log."""
