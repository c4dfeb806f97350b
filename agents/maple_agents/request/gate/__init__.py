"""What the readings passed over: the names of the site, and the words themselves held against the values."""
