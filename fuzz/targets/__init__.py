"""One file for each reader of foreign bytes."""
