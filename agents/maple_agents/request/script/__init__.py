"""A batch script of any cluster as slots."""
