# Rates per group under weights or clusters by survey::svyby and survey::svymean, a witness written by others: Lumley
# (2004), Analysis of complex survey samples, Journal of Statistical Software 9, 1-19.
survey_rates <- function(outcome, cases, group, weight = NULL, cluster = NULL) {
  data <- data.frame(
    outcome = as.numeric(outcome),
    cases = as.logical(cases),
    group = as.character(group)
  )
  data$weight <- if (is.null(weight)) rep(1, nrow(data)) else as.numeric(weight)
  data$cluster <- if (is.null(cluster)) seq_len(nrow(data)) else as.character(cluster)
  design <- survey::svydesign(ids = ~cluster, weights = ~weight, data = data)
  domain <- design[data$cases, ]
  by <- survey::svyby(~outcome, ~group, domain, survey::svymean, covmat = TRUE)
  list(
    groups = as.character(by$group),
    rate = as.numeric(by$outcome),
    covariance = unname(as.matrix(stats::vcov(by))),
    df = survey::degf(design)
  )
}

# what sourcing this file returns must have a counterpart in Python
NULL
