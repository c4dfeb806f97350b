"""Fix, run, read again."""
