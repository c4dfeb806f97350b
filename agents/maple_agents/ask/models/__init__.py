"""Language models behind one Protocol; an answer is typed, or it is refused."""
