#' Extreme counterfactual discrimination of two groups
#'
#' From the counterfactual discrimination of every person (score with another value of the protected attribute
#' minus own score): the difference of the return levels of `interactions` persons, whose tails are generalised
#' Pareto laws above the (k + 1)-th largest value of either group, their number a Poisson one. Test and interval by
#' the likelihood ratio with rate, scale and shape of both groups profiled, whose signed root has Student's t with
#' three degrees of freedom less than the smaller tail has values; a z-test with the delta method's standard errors
#' beside it. Also the averages, and the mean of the worst share. All in base R.
#'
#' @param unprivileged,privileged Counterfactual discrimination of the persons of either group, in \[-1, 1\].
#' @param interactions Number of interactions m, the same for both groups.
#' @param exceedances k.
#' @param confidence_level Level of the intervals; the verdict uses one-sided bounds at this level.
#' @param tolerance Beyond it lies a violation.
#' @param worst The mean of the worst share 1 - `worst` is given, too.
#' @return A list of class `fairstats_ecd`: estimate, std_error (delta method), ci_low, ci_high, bound_low,
#'   bound_high, statistic and pvalue of the likelihood ratio, delta_pvalue, verdict; `tails`, a data frame with
#'   threshold, rate, scale, shape, return level and its interval per group; `averages`, a data frame with mean,
#'   interval and z-test per group and of their difference, and the conditional value at risk.
#' @references Monjezi, Kreinovich, Trivedi, Tizpaz-Niari. Fairness testing through extreme value theory. Coles
#'   (2001). An introduction to statistical modeling of extreme values. Rockafellar, Uryasev (2000). Optimization
#'   of conditional value-at-risk. Journal of Risk 2, 21-41.
#' @examples
#' set.seed(1)
#' fs_ecd(0.5 * rbeta(3000, 2, 8), 0.3 * rbeta(8000, 2, 8))
#' @export
fs_ecd <- function(unprivileged, privileged, interactions = 1000, exceedances = 50, confidence_level = 0.95,
                   tolerance = 0.05, worst = 0.95) {
  groups <- list(unprivileged = unprivileged, privileged = privileged)
  for (name in names(groups)) {
    groups[[name]] <- checked_numbers(groups[[name]], name, -1, 1)
    if (length(groups[[name]]) <= exceedances) {
      stop_argument(name, paste(length(groups[[name]]), "values"), paste("more than", exceedances, "of them"))
    }
  }
  audit_options(confidence_level, tolerance = tolerance)
  if (!(interactions > 1)) stop_argument("interactions", listed(interactions), "a number above 1")
  tails <- Map(tail_of, groups, names(groups), exceedances, interactions, confidence_level)
  of <- function(k) tails[[k]]
  found <- crosscheck_level_contrast(
    of(1L)$excess, length(groups[[1L]]), of(1L)$threshold, of(2L)$excess, length(groups[[2L]]), of(2L)$threshold,
    interactions, confidence_level, "poisson"
  )
  ends <- function(x) pmin(pmax(x, -2), 2)
  s <- sqrt(of(1L)$row$std_error^2 + of(2L)$row$std_error^2)
  structure(list(
    estimate = found$estimate, std_error = s, ci_low = ends(found$low), ci_high = ends(found$high),
    bound_low = ends(found$bound_low), bound_high = ends(found$bound_high), statistic = found$statistic,
    pvalue = found$pvalue, delta_pvalue = 2 * stats::pnorm(-abs(found$estimate) / s),
    verdict = verdict_of(found$bound_low, found$bound_high, "difference", tolerance),
    tails = do.call(rbind, lapply(unname(tails), `[[`, "row")),
    averages = ecd_averages(groups, worst, confidence_level), interactions = interactions
  ), class = "fairstats_ecd")
}

tail_of <- function(x, name, k, m, level) {
  threshold <- sort(x, decreasing = TRUE)[k + 1L]
  excess <- x[x > threshold] - threshold
  if (length(unique(excess)) < max(10, length(excess) / 2)) {
    stop_argument(name, paste(length(unique(excess)), "distinct values above the threshold"), "a continuous tail")
  }
  fit <- crosscheck_gpd(excess)
  at <- crosscheck_level(excess, length(x), threshold, m, level, "poisson")
  list(excess = excess, threshold = threshold, row = data.frame(
    group = name, n = length(x), threshold = threshold, exceedances = length(excess), rate = length(excess) / length(x),
    scale = fit$estimate[[1L]], shape = fit$estimate[[2L]], shape_std_error = fit$std_error[[2L]],
    return_level = at$estimate, std_error = at$std_error, ci_low = at$low, ci_high = at$high
  ))
}

ecd_averages <- function(groups, worst, level) {
  row <- function(quantity, group, estimate, std_error) {
    found <- crosscheck_mean(estimate, std_error, level)
    data.frame(
      quantity = quantity, group = group, estimate = estimate, std_error = std_error, ci_low = found$low,
      ci_high = found$high, statistic = found$statistic, pvalue = found$pvalue
    )
  }
  means <- lapply(groups, mean_of_people)
  rows <- lapply(names(groups), function(g) row("mean", g, means[[g]]$estimate, means[[g]]$std_error))
  difference <- means[[1L]]$estimate - means[[2L]]$estimate
  spread <- sqrt(means[[1L]]$std_error^2 + means[[2L]]$std_error^2)
  risk <- lapply(names(groups), function(g) {
    q <- stats::quantile(groups[[g]], worst, names = FALSE)
    beyond <- mean_of_people(pmax(groups[[g]] - q, 0) / (1 - worst))
    found <- row("conditional value at risk", g, q + beyond$estimate, beyond$std_error)
    found[c("statistic", "pvalue")] <- NaN
    found
  })
  do.call(rbind, c(rows, list(row("difference of means", "unprivileged - privileged", difference, spread)), risk))
}

#' @export
print.fairstats_ecd <- function(x, digits = 3L, ...) {
  cat(
    "Extreme counterfactual discrimination in ", format(x$interactions, big.mark = ","), " interactions: ",
    formatC(x$estimate, digits, format = "f"), " [", formatC(x$ci_low, digits, format = "f"), ", ",
    formatC(x$ci_high, digits, format = "f"), "], p = ", format.pval(x$pvalue, 2L, 1e-4), ", ", x$verdict, "\n",
    sep = ""
  )
  print.data.frame(x$tails, digits = digits, row.names = FALSE)
  print.data.frame(x$averages, digits = digits, row.names = FALSE)
  invisible(x)
}
