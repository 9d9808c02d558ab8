"""The verbs. Each returns a report and prints nothing."""
