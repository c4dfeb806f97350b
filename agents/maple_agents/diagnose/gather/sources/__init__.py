"""What one source tells of a job: a scheduler, its accounting, the service, a file."""
