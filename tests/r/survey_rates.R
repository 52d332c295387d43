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

# The difference, or ratio, of the rates of two groups within strata by survey::svyby of all crossings
# and survey::svycontrast, with the weights of Mantel and Haenszel of the summed weights; and the
# coefficient of the group in survey::svyglm on group and strata, which is the same difference.
survey_strata <- function(outcome, group, stratum, weight, cluster = NULL) {
  data <- data.frame(outcome = as.numeric(outcome), weight = as.numeric(weight))
  data$group <- stats::relevel(factor(group), "blue")
  data$stratum <- factor(stratum)
  data$cluster <- if (is.null(cluster)) seq_len(nrow(data)) else as.character(cluster)
  design <- survey::svydesign(ids = ~cluster, weights = ~weight, data = data)
  by <- survey::svyby(~outcome, ~ group + stratum, design, survey::svymean, covmat = TRUE)
  size <- tapply(data$weight, list(data$group, data$stratum), sum)
  share <- size[1L, ] * size[2L, ] / colSums(size)
  one <- by$group != "blue"
  part <- share[as.character(by$stratum)] / sum(share)
  difference <- survey::svycontrast(by, list(d = ifelse(one, part, -part)))
  sums <- survey::svycontrast(by, list(a = ifelse(one, part, 0), b = ifelse(one, 0, part)))
  ratio <- survey::svycontrast(sums, quote(a / b))
  fit <- survey::svyglm(outcome ~ group + stratum, design)
  list(
    difference = unname(stats::coef(difference)),
    difference_error = unname(survey::SE(difference)),
    ratio = unname(stats::coef(ratio)),
    ratio_error = unname(survey::SE(ratio)),
    coefficient = unname(stats::coef(fit)[2L])
  )
}

# what sourcing this file returns must have a counterpart in Python
NULL
