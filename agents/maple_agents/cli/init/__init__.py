"""`maple init`: Maple in a person's shell."""
