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

# F1 of the cells of two groups standardised to common strata, as a function of svyby's shares of tp,
# fp, fn and tn in all crossings: the difference and its standard error.
survey_f1_within_strata <- function(cell, group, stratum, weight, cluster = NULL) {
  data <- data.frame(weight = as.numeric(weight), group = group, stratum = stratum)
  cells <- c("tp", "fp", "fn", "tn")
  for (name in cells) {
    data[[name]] <- as.numeric(cell == name)
  }
  data$cluster <- if (is.null(cluster)) seq_len(nrow(data)) else as.character(cluster)
  design <- survey::svydesign(ids = ~cluster, weights = ~weight, data = data)
  by <- survey::svyby(
    ~ tp + fp + fn + tn,
    ~ group + stratum,
    design,
    survey::svymean,
    covmat = TRUE
  )
  size <- tapply(data$weight, list(data$group, data$stratum), sum)
  share <- size[1L, ] * size[2L, ] / colSums(size)
  part <- share[as.character(by$stratum)] / sum(share)
  one <- by$group == "a"
  # coefficients stand cell by cell
  standardised <- list()
  for (k in seq_along(cells)) {
    of_cell <- rep(0, 4L)
    of_cell[k] <- 1
    standardised[[paste0(cells[k], "1")]] <- as.vector(outer(ifelse(one, part, 0), of_cell))
    standardised[[paste0(cells[k], "0")]] <- as.vector(outer(ifelse(one, 0, part), of_cell))
  }
  sums <- survey::svycontrast(by, standardised)
  f1 <- survey::svycontrast(
    sums,
    quote(2 * tp1 / (2 * tp1 + fp1 + fn1) - 2 * tp0 / (2 * tp0 + fp0 + fn0))
  )
  list(difference = unname(stats::coef(f1)), std_error = unname(survey::SE(f1)))
}

# what sourcing this file returns must have a counterpart in Python
NULL
