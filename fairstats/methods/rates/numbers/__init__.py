"""Numbers instead of labels: means, medians and quantiles, errors of predictions."""
