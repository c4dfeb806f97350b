"""A trained second reader of requests: which words hold a slot. Its weights are data; `make tagger` makes them anew."""
