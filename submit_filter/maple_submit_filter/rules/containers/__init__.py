"""MPL7: images and what reaches into them."""
