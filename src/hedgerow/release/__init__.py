"""From a release to what people read: the report, and the population that the demo releases."""
