"""Requests that say nothing unusual, read and answered without a general parser."""
