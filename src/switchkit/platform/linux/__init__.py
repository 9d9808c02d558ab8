"""Linux: each noun of the platform by the calls of this kernel."""
