"""One run: submitted, watched, cleared up; what its ranks said."""
