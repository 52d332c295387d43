"""Groups that nobody recorded: rates from probabilities of the groups."""
