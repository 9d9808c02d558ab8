"""The audit log: a chain of records on disk that cannot be changed unnoticed."""
