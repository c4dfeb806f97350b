"""Slurm: its commands, slurmrestd, pyslurm."""
