"""`maple progress`: how far a job is."""
