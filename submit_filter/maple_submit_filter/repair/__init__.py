"""The smallest set of edits that cures, and the proof that it does."""
