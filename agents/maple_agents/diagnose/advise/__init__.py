"""With a language model: what it may see, what it is asked, what of it is believed."""
