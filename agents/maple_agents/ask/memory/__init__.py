"""What the service remembers of one's own jobs, asked over its socket."""
