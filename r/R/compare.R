#' Compare the rates of groups with a reference: intervals and tests
#'
#' One row per group that is not the reference: estimate, standard error, interval, and four tests. Without
#' weights and clusters every method is available; with them, `"log"` and `"delta"` by linearisation with
#' Student's t.
#'
#' @param y_true,y_pred Labels and predictions, 0 or 1.
#' @param group Group labels.
#' @param rate Name of the rate: `"selection_rate"`, `"base_rate"`, `"accuracy"`, `"tpr"`, `"fpr"`, `"fnr"`,
#'   `"tnr"`, `"ppv"` or `"npv"`.
#' @param contrast `"ratio"` or `"difference"`.
#' @param reference Reference group; default the largest.
#' @param method See [ratio_interval()] and [difference_interval()].
#' @param level Confidence level.
#' @param threshold Null value of the one-sided tests, and margin of the equivalence test: (threshold,
#'   1 / threshold) for a ratio, (-threshold, threshold) for a difference.
#' @param weight,cluster Optional weights and sampling units.
#' @return A data frame with the columns group, reference, rate, rate_reference, estimate, std_error, low,
#'   high, statistic and p_equal (null: ratio 1 or difference 0), p_less (null: at least the threshold, or
#'   minus it for a difference), p_greater (null: at most the threshold), p_equivalence (two one-sided tests),
#'   n, n_reference.
#' @examples
#' y <- c(1, 0, 1, 1, 0, 0, 1, 0)
#' compare_rates(NULL, y, rep(c("a", "b"), each = 4), "selection_rate", "ratio", reference = "a")
#' @export
compare_rates <- function(y_true, y_pred, group, rate, contrast = c("ratio", "difference"), reference = NULL,
                          method = NULL, level = 0.95, threshold = NULL, weight = NULL, cluster = NULL) {
  contrast <- match.arg(contrast)
  if (is.null(method)) method <- if (contrast == "ratio") "log" else "delta"
  if (is.null(threshold)) threshold <- if (contrast == "ratio") 0.8 else 0.1
  columns <- rate_columns(rate, y_true, y_pred)
  table <- group_rates(columns[[1L]], columns[[2L]], group, weight, cluster)
  sizes <- as.numeric(base::table(factor(group, table$groups)))
  compare_table(table, sizes, contrast, reference, method, level, threshold)
}

compare_table <- function(table, sizes, contrast, reference, method, level, threshold) {
  j <- reference_index(reference, table$groups, sizes)
  others <- setdiff(seq_along(table$groups), j)
  if (!length(others)) stop("there is one group only", call. = FALSE)
  if (any(table$rows == 0)) {
    stop("no cases in group ", table$groups[which(table$rows == 0)[1L]], call. = FALSE)
  }
  rows <- lapply(others, compare_pair,
    j = j, table = table, contrast = contrast, method = method, level = level, threshold = threshold
  )
  do.call(rbind, rows)
}

compare_pair <- function(i, j, table, contrast, method, level, threshold) {
  pair <- pair_inference(i, j, table, contrast, method)
  low <- if (contrast == "ratio") min(threshold, 1 / threshold) else -threshold
  high <- if (contrast == "ratio") max(threshold, 1 / threshold) else threshold
  less_null <- if (contrast == "ratio") threshold else low
  greater_null <- if (contrast == "ratio") threshold else high
  below <- function(z) stats::pt(z, table$df)
  above <- function(z) stats::pt(z, table$df, lower.tail = FALSE)
  z <- pair$statistic(if (contrast == "ratio") 1 else 0)
  ends <- pair$interval(level)
  data.frame(
    group = table$groups[i], reference = table$groups[j], rate = table$rate[i], rate_reference = table$rate[j],
    estimate = pair$estimate, std_error = pair$std_error, low = ends[1L], high = ends[2L],
    statistic = z, p_equal = 2 * above(abs(z)),
    p_less = below(pair$statistic(less_null)), p_greater = above(pair$statistic(greater_null)),
    p_equivalence = max(above(pair$statistic(low)), below(pair$statistic(high))),
    n = table$rows[i], n_reference = table$rows[j]
  )
}

# Estimate, standard error, interval(level) and statistic(null) of one pair by one method.
pair_inference <- function(i, j, table, contrast, method) {
  r <- table$rate[c(i, j)]
  v <- table$covariance[c(i, j), c(i, j)]
  cells <- c(table$successes[i], table$cases[i], table$successes[j], table$cases[j])
  quantile <- function(level) stats::qt((1 + level) / 2, table$df)
  if (contrast == "ratio") {
    estimate <- r[1L] / r[2L]
    s <- sqrt(max(0, sum(outer(c(1 / r[1L], -1 / r[2L]), c(1 / r[1L], -1 / r[2L])) * v)))
    std_error <- estimate * s
  } else {
    estimate <- r[1L] - r[2L]
    std_error <- sqrt(max(0, sum(outer(c(1, -1), c(1, -1)) * v)))
  }
  wald <- list(
    interval = function(level) estimate + c(-1, 1) * quantile(level) * std_error,
    statistic = function(null) (estimate - null) / std_error
  )
  if (method == "log") {
    how <- list(
      interval = function(level) estimate * exp(c(-1, 1) * quantile(level) * s),
      statistic = function(null) log(estimate / null) / s
    )
  } else if (method == "delta") {
    how <- wald
  } else {
    if (is.finite(table$df)) stop("method \"", method, "\" is for unweighted independent rows", call. = FALSE)
    interval <- if (contrast == "ratio") ratio_interval else difference_interval
    score <- if (contrast == "ratio") ratio_score else difference_score
    how <- list(
      interval = function(level) interval(cells[1L], cells[2L], cells[3L], cells[4L], level, method),
      statistic = function(null) score(cells[1L], cells[2L], cells[3L], cells[4L], null, method == "score")
    )
  }
  c(list(estimate = estimate, std_error = std_error), how)
}
