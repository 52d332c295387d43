# Areas between ROC curves for fairstats.crosscheck(), from rows per group, label (0, 1) and ascending score.

# ROC curve: false and true positive rates by descending score, from (0, 0) to (1, 1).
roc_points <- function(negatives, positives) {
  list(x = c(0, cumsum(rev(negatives))) / sum(negatives), y = c(0, cumsum(rev(positives))) / sum(positives))
}

# Height between jumps, by linear interpolation.
roc_at <- function(curve, x) {
  left <- findInterval(x, curve$x, rightmost.closed = TRUE)
  share <- (x - curve$x[left]) / (curve$x[left + 1L] - curve$x[left])
  curve$y[left] + ifelse(is.finite(share), share, 0) * (curve$y[left + 1L] - curve$y[left])
}

# Exact area: between two neighbouring jumps both curves are straight, so two inner points tell their ends.
roc_area_between <- function(first, second) {
  at <- sort(unique(c(first$x, second$x)))
  width <- diff(at)
  inner <- lapply(1:2, function(k) {
    x <- at[-length(at)] + width * k / 3
    roc_at(first, x) - roc_at(second, x)
  })
  start <- 2 * inner[[1L]] - inner[[2L]]
  stop <- 2 * inner[[2L]] - inner[[1L]]
  size <- abs(start) + abs(stop)
  height <- ifelse(start * stop >= 0, size / 2, ifelse(size > 0, (start^2 + stop^2) / (2 * size), 0))
  sum(width * height)
}

# AUC as the probability that a favourable row has the larger score, ties counted half.
roc_auc <- function(negatives, positives) {
  below <- cumsum(negatives) - negatives
  sum(positives * (below + negatives / 2)) / (sum(positives) * sum(negatives))
}

# counts: groups x 2 x scores. Area and AUCs of every pair; `slack`: how far bins of scores may blur an area.
crosscheck_abroca <- function(counts, first, second, level, resamples) {
  groups <- dim(counts)[1L]
  usable <- vapply(seq_len(groups), function(g) all(rowSums(matrix(counts[g, , ], 2L)) > 0), NA)
  curve <- lapply(seq_len(groups), function(g) if (usable[g]) roc_points(counts[g, 1L, ], counts[g, 2L, ]))
  auc <- vapply(seq_len(groups), function(g) if (usable[g]) roc_auc(counts[g, 1L, ], counts[g, 2L, ]) else NaN, 0)
  slack <- vapply(seq_len(groups), function(g) {
    if (usable[g]) sum(counts[g, 1L, ] / sum(counts[g, 1L, ]) * counts[g, 2L, ] / sum(counts[g, 2L, ])) / 2 else 0
  }, 0)
  grid <- (seq_len(1000) - 0.5) / 1000
  noise <- lapply(seq_len(groups), function(g) {
    if (!usable[g]) return(NULL)
    centre <- roc_at(curve[[g]], grid)
    drawn <- lapply(1:2, function(label) stats::rmultinom(resamples, sum(counts[g, label, ]), counts[g, label, ]))
    vapply(seq_len(resamples), function(b) roc_at(roc_points(drawn[[1L]][, b], drawn[[2L]][, b]), grid) - centre, grid)
  })
  pairs <- lapply(seq_along(first), function(k) {
    i <- first[k]
    j <- second[k]
    out <- list(auc = auc[i], auc_reference = auc[j], slack = slack[i] + slack[j])
    more <- c("estimate", "reach", "reach_error", "pvalue", "pvalue_error", "mean", "mean_error", "sd", "sd_error")
    out[more] <- NaN
    if (!usable[i] || !usable[j]) return(out)
    out$estimate <- roc_area_between(curve[[i]], curve[[j]])
    distance <- colMeans(abs(noise[[i]] - noise[[j]]))
    utils::modifyList(out, distance_summary(distance, out$estimate, level))
  })
  columns <- names(pairs[[1L]])
  stats::setNames(lapply(columns, function(name) vapply(pairs, `[[`, 0, name)), columns)
}

# Quantile, p-value, mean and standard deviation of simulated distances, with the Monte Carlo errors of a difference
# between two simulations of this size.
distance_summary <- function(distance, observed, level) {
  n <- length(distance)
  step <- sqrt(2 * level * (1 - level) / n)
  near <- stats::quantile(distance, pmin(pmax(level + c(0, -step, step), 0), 1), names = FALSE)
  p <- (1 + sum(distance >= observed)) / (1 + n)
  s <- stats::sd(distance)
  fourth <- mean((distance - mean(distance))^4)
  list(
    reach = near[1L], reach_error = (near[3L] - near[2L]) / 2, pvalue = p,
    pvalue_error = sqrt(2 * (p * (1 - p) + 1 / n) / n), mean = mean(distance), mean_error = s * sqrt(2 / n),
    sd = s * sqrt((n - 1) / n), sd_error = sqrt(max(fourth - s^4, 0) / (4 * s^2) * 2 / n)
  )
}

# Rows to counts per group, label and distinct score.
abroca_counts <- function(score, y, group, groups) {
  counts <- table(factor(group, groups), factor(y, 0:1), factor(score, sort(unique(score))))
  array(as.numeric(counts), dim(counts))
}
