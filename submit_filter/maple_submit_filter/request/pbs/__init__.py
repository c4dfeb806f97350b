"""A submission as qsub reads it."""
