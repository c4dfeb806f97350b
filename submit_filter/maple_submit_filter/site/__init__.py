"""Checked facts of the cluster: what they are, as JSON and back, and what an administrator settled by them."""
