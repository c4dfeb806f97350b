"""`maple history` and `maple show`."""
