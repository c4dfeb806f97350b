"""A submission as sbatch reads it."""
