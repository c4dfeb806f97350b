"""Everything that asks the world: schedulers, the files of the site, the service, a language model."""
