"""macOS: what is known of it today. The rest is `Unknown`, or the answer of the safe side."""
