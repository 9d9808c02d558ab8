"""What `doctor` looks at beside the configuration."""
