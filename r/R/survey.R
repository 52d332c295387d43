#' Rates per group by the survey package
#'
#' The same numbers as [group_rates()] under weights or clusters, computed by `survey::svyby` and
#' `survey::svymean`: a witness written by others.
#'
#' @inheritParams group_rates
#' @return A list: `groups`, `rate`, `covariance`, `df` (of the design).
#' @references Lumley (2004). Analysis of complex survey samples. Journal of Statistical Software 9, 1-19.
#' @examples
#' if (requireNamespace("survey", quietly = TRUE)) {
#'   survey_rates(c(1, 0, 1, 1), rep(TRUE, 4), c("a", "a", "b", "b"), weight = c(1, 2, 1, 3))$rate
#' }
#' @export
survey_rates <- function(outcome, cases, group, weight = NULL, cluster = NULL) {
  need_package("survey")
  data <- data.frame(outcome = as.numeric(outcome), cases = as.logical(cases), group = as.character(group))
  data$weight <- if (is.null(weight)) rep(1, nrow(data)) else as.numeric(weight)
  data$cluster <- if (is.null(cluster)) seq_len(nrow(data)) else as.character(cluster)
  design <- survey::svydesign(ids = ~cluster, weights = ~weight, data = data)
  domain <- design[data$cases, ]
  by <- survey::svyby(~outcome, ~group, domain, survey::svymean, covmat = TRUE)
  list(
    groups = as.character(by$group), rate = as.numeric(by$outcome),
    covariance = unname(as.matrix(stats::vcov(by))), df = survey::degf(design)
  )
}
