"""From a template, a site and slots to a batch script."""
