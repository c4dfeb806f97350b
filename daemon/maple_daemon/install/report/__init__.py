"""What came of it, for administrators."""
