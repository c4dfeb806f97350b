"""Which entries of the knowledge base a job's logs and facts speak of."""
