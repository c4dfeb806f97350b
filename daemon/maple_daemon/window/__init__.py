"""What administrators see of Maple in a browser: figures, pages of them, a small server that only reads."""
