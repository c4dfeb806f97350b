"""A Python program read as text, without running it."""
