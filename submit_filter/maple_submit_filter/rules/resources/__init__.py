"""MPL2: what is asked of the scheduler, and what the site grants."""
