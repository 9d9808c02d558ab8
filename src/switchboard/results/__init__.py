"""Results too long for a model: kept whole, shown in part, read and sent on by a handle."""
