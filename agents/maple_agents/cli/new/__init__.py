"""`maple new`."""
