"""The vocabulary: faults, names, durations, and whose variables count. Imports nothing of ours."""
