"""The vocabulary: faults, names, durations, the caller's variables. Imports nothing of ours."""
