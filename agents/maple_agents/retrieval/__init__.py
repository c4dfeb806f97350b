"""The template for the slots, the passage for the words: FTS5 and MiniLM, ranks fused."""
