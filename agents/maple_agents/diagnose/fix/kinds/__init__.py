"""One kind of change each, found by its name."""
