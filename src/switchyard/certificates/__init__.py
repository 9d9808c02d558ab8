"""Certificates for the names of services, and nothing else."""
