# Posteriors of accuracy and fairness in an audit, from draws of their own.

# metric of the table -> rate, contrast.
UM_METRICS <- list(
  accuracy = c("accuracy", "group"),
  demographic_parity = c("selection_rate", "difference"),
  equal_opportunity = c("tpr", "difference"),
  predictive_equality = c("fpr", "difference"),
  predictive_parity = c("ppv", "difference")
)

um_counts <- function(input, grouping) {
  cell <- c("tn", "fp", "fn", "tp")[1 + input$y_pred + 2 * input$y_true]
  table <- table(factor(grouping$labels, grouping$groups), factor(cell, c("tp", "tn", "fp", "fn")))
  matrix(as.numeric(table), nrow(table), dimnames = list(grouping$groups, c("tp", "tn", "fp", "fn")))
}

um_rows <- function(counts, draws, reference, options) {
  groups <- rownames(counts)
  seen <- lapply(stats::setNames(1:4, colnames(counts)), function(k) t(counts[, k]))
  sizes <- rowSums(counts)
  others <- setdiff(seq_along(groups), reference)
  of <- function(x, rate, contrast) um_metric(x$tp, x$tn, x$fp, x$fn, rate, contrast, reference)
  rows <- list()
  for (metric in names(UM_METRICS)) {
    rate <- UM_METRICS[[metric]][1L]
    contrast <- UM_METRICS[[metric]][2L]
    values <- as.matrix(of(draws, rate, contrast))
    observed <- as.vector(of(seen, rate, contrast))
    if (contrast == "group") {
      values <- cbind(of(draws, rate, "overall"), values)
      observed <- c(of(seen, rate, "overall"), observed)
      labels <- c("all", groups)
      rows_of <- c(sum(sizes), sizes)
    } else {
      labels <- groups[others]
      rows_of <- sizes[others] + sizes[reference]
    }
    for (k in seq_along(labels)) {
      rows <- c(rows, list(um_row(
        metric, labels[k], if (contrast == "group") "" else groups[reference], values[, k], observed[k],
        rows_of[k], if (contrast == "difference") options$tolerance, options$confidence_level
      )))
    }
  }
  bind_rows(rows)
}

um_row <- function(metric, group, reference, draws, observed, n, rope, level) {
  known <- draws[!is.na(draws)]
  ends <- shortest_interval(known, level)
  # the ends of a shortest interval vary as the cube root of the draws, not their square root
  tenths <- vapply(split(known, rep_len(1:10, length(known))), shortest_interval, numeric(2), level = level)
  wide <- sqrt(2) * apply(tenths, 1L, stats::sd) / 10^(1 / 3)
  inside <- if (is.null(rope)) NA_real_ else mean(abs(known) <= rope + 1e-12)
  tidy_row(metric, group, reference,
    estimate = mean(known), std_error = stats::sd(known), ci_low = ends[1L], ci_high = ends[2L], n = n,
    method = "parameter, HDI", confidence_level = level, median = stats::median(known), observed = observed,
    rope = if (is.null(rope)) NA_real_ else rope, p_rope = inside, rate = NA_real_, rate_reference = NA_real_,
    undefined = 1 - length(known) / length(draws), mc_estimate = sqrt(2 / length(known)) * stats::sd(known),
    mc_std_error = sd_with_error(known)$sd_error, mc_ci_low = wide[1L], mc_ci_high = wide[2L],
    mc_median = sqrt(pi / length(known)) * stats::sd(known),
    mc_p_rope = sqrt(2 * max(inside * (1 - inside), 1 / length(known)) / length(known)),
    mc_undefined = sqrt(2 * mean(is.na(draws)) / length(draws))
  )
}

# The shortest interval between draws that spans floor(level * n) steps.
shortest_interval <- function(draws, level) {
  x <- sort(draws)
  n <- length(x)
  if (!n) return(c(NaN, NaN))
  span <- min(floor(level * n), n - 1)
  first <- which.min(x[(span + 1):n] - x[1:(n - span)])
  c(x[first], x[first + span])
}
