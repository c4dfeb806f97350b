"""What was said, the site and what is left to decide: layout, place, launcher."""
