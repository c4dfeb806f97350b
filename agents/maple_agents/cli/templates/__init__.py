"""`maple templates`."""
