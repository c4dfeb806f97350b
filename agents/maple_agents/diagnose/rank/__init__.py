"""The likeliest cause first, how sure, and when better none."""
