"""A project: where its state is, which branch is meant, what its configuration says."""
