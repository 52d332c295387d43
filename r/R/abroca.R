#' Area between two ROC curves
#'
#' The integral of the absolute difference of two empirical ROC curves over the false positive rate, exact: between
#' two neighbouring jumps of either curve both are straight lines. Tied scores give slanted pieces.
#'
#' @param y_true0,score0 Labels (0 or 1) and scores of the group; larger scores speak for label 1.
#' @param y_true1,score1 The same of the reference.
#' @return A list: area, auc (of the group and of the reference).
#' @references Gardner, Brooks, Baker (2019). Evaluating the fairness of predictive student models through slicing
#'   analysis. LAK19, 225-234.
#' @examples
#' abroca(c(0, 1, 0, 1), c(0.1, 0.4, 0.5, 0.9), c(0, 1, 0, 1), c(0.2, 0.8, 0.3, 0.9))
#' @export
abroca <- function(y_true0, score0, y_true1, score1) {
  for (k in 0:1) {
    y <- if (k == 0) y_true0 else y_true1
    if (length(y) != length(if (k == 0) score0 else score1) || !all(y %in% 0:1) || length(unique(y)) < 2L) {
      stop_argument(paste0("y_true", k), "labels other than 0 and 1, one of them only, or not one per score", "0 and 1")
    }
  }
  counts <- abroca_counts(
    c(score0, score1), c(y_true0, y_true1), rep(c("0", "1"), c(length(score0), length(score1))), c("0", "1")
  )
  curves <- lapply(1:2, function(g) roc_points(counts[g, 1L, ], counts[g, 2L, ]))
  list(
    area = roc_area_between(curves[[1L]], curves[[2L]]),
    auc = vapply(1:2, function(g) roc_auc(counts[g, 1L, ], counts[g, 2L, ]), 0)
  )
}

# ABROCA of every pair in an audit, with limits from a bootstrap of the curves within group and label: by the triangle
# inequality the estimate is off by at most the area between the drawn difference and the observed one.
abroca_rows <- function(input, grouping, pairs, options) {
  level <- options$confidence_level
  counts <- abroca_counts(input$score, input$y_true, grouping$labels, grouping$groups)
  smallest <- apply(apply(counts, 1:2, sum), 1L, min)
  of_pairs <- crosscheck_abroca(counts, pairs[, 1L], pairs[, 2L], level, options$curve_resamples)
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    found <- lapply(of_pairs, `[[`, k)
    size <- grouping$sizes[pairs[k, ]]
    row <- tidy_row("abroca", grouping$groups[pairs[k, 1L]], grouping$groups[pairs[k, 2L]],
      ci_low = 0, ci_high = 1, bound_low = 0, bound_high = 1, n = size[1L], n_reference = size[2L],
      method = "bootstrap of the curves", rate = found$auc, rate_reference = found$auc_reference,
      confidence_level = level, verdict = "insufficient evidence", expected_if_equal = NaN
    )
    # the bootstrap of fewer than ten rows of a label understates the noise
    if (min(smallest[pairs[k, ]]) < 10) return(row)
    ends <- c(max(found$estimate - found$reach, 0), min(found$estimate + found$reach, 1))
    given <- list(
      estimate = found$estimate, std_error = found$sd, ci_low = ends[1L], ci_high = ends[2L],
      statistic = found$estimate, pvalue = found$pvalue, bound_low = ends[1L], bound_high = ends[2L],
      verdict = verdict_of(ends[1L], ends[2L], "difference", options$tolerance), expected_if_equal = found$mean,
      mc_std_error = found$sd_error, mc_ci_low = found$reach_error, mc_ci_high = found$reach_error,
      mc_bound_low = found$reach_error, mc_bound_high = found$reach_error, mc_pvalue = found$pvalue_error,
      mc_expected_if_equal = found$mean_error
    )
    row[names(given)] <- given
    row
  }))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  if (!is.null(found$mc_pvalue)) found$mc_pvalue_adjusted <- nrow(found) * found$mc_pvalue
  found
}
