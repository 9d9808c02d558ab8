"""What was started, as written down and as the kernel sees it. Starts nothing."""
