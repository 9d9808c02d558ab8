"""What verbs share that start runs, or look at them."""
