"""One node of a job: what each task runs on, and what of that does not go together."""
