"""What a job will need, from what its own earlier runs needed; no answer where they do not tell."""
