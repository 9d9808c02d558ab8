"""What each branch has of its own besides its services: databases and the like."""
