"""The extractor's agent: what a language model finds where the readers are silent, and what of it is believed."""
