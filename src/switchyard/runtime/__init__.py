"""What was started, as recorded and as the kernel sees it. Starts nothing."""
