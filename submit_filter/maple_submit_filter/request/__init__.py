"""What sbatch and qsub would read of a submission: command line, environment, directives, and which of them wins."""
