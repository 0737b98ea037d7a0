"""Where people and machines talk to Hedgerow: the command line."""
