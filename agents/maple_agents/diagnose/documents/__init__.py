"""The site's own documents, and the passage that speaks of a failure."""
