"""The template repository: parts that are data, composed into a batch script for one site."""
