"""The tool by which a model reads parts of results that were too long for it."""
