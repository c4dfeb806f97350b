"""Which passage fits a text: by its words (SQLite FTS5) and by its meaning (MiniLM), ranks fused.

`index.py` knows nothing of what the passages are about; `choose.py` asks it for the paradigm that a request describes.
"""
