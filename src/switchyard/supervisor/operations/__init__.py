"""The operations of the supervisor: start, stop, check out."""
