"""`maple-fix`."""
