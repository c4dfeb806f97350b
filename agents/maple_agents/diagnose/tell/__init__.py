"""A diagnosis as JSON and for people."""
