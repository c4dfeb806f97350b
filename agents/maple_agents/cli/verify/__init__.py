"""`maple verify`."""
