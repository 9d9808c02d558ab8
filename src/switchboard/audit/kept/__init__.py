"""Records that outlive their segment."""
