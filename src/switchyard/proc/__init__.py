"""What is true about processes, asked from the kernel and never remembered."""
