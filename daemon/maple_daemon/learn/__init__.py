"""What the ends of jobs say of changes."""
