"""What the supervisor does when it is asked: start, stop, check out."""
