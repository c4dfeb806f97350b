"""What remembers."""
