"""Slurm: its commands, or pyslurm."""
