"""What was started, put into worlds; and where that contradicts itself."""
