# Pictures in base graphics: estimates and intervals of an audit or a report, the pictures of a
# report's HTML page, and return levels of fs_ecd().

# Colours that stay apart without red and green.
SERIES <- c("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3b8fc2")
VERDICT_COLOURS <- c(violated = "#a3161b", satisfied = "#17663f", undecided = "#775600")

#' Pictures of audits, reports, score distributions and tails
#'
#' In base graphics. `plot` of an audit, or of a report that Python wrote, draws estimates and
#' intervals of one metric; of a report also the pictures of its HTML page: "scores" (histograms of
#' two groups, the area where they differ, which is MADD), "bandwidth" (MADD by number of bins),
#' "roc" (the area between the curves, which is ABROCA), "calibration" (Wilson's intervals in bins
#' of scores), "posterior" (differences of true and false positive rates: draws, their highest
#' density regions of 50% and 95%, and the region where both are practically nil) and "power" (of
#' showing a ratio of selection rates below its threshold, in groups of these sizes). `plot` of
#' [fs_ecd()] draws return levels by number of interactions, with the interval at the number asked
#' about.
#'
#' @param x What [fs_audit()], [fs_read_report()] or [fs_ecd()] returned.
#' @param metric Which metric; by default the first.
#' @param sensitive_features Of which sensitive column; by default the first.
#' @param ... Passed to [graphics::plot()].
#' @param kind "forest", "scores", "bandwidth", "roc", "calibration", "posterior" or "power".
#' @param group Whose comparison with the reference; by default the first.
#'
#' @return `x`, invisibly.
#'
#' @examples
#' report <- fs_read_report(system.file("extdata", "report.json.gz", package = "fairstats"))
#' plot(report)
#' set.seed(1)
#' plot(fs_ecd(0.5 * rbeta(3000, 2, 8), 0.3 * rbeta(8000, 2, 8)))
#' @export
plot.fairstats_audit <- function(x, metric = NULL, sensitive_features = NULL, ...) {
  forest_of(as.data.frame(x), metric, sensitive_features, ...)
  invisible(x)
}

#' @rdname plot.fairstats_audit
#' @export
plot.fairstats_report <- function(
  x,
  kind = c("forest", "scores", "bandwidth", "roc", "calibration", "posterior", "power"),
  metric = NULL,
  group = NULL,
  sensitive_features = NULL,
  ...
) {
  kind <- match.arg(kind)
  if (kind == "forest") {
    forest_of(x$table, metric, sensitive_features, ...)
    return(invisible(x))
  }
  wanted <- switch(
    kind,
    scores = ,
    bandwidth = "madd",
    roc = ,
    calibration = "abroca",
    posterior = "UmPosterior",
    power = "disparate_impact"
  )
  fits <- function(r) {
    name <- if (length(r$metric)) {
      r$metric
    } else if (length(r$comparisons)) {
      r$comparisons[[1L]]$metric
    } else {
      r$class
    }
    about <- paste(r$attributes, collapse = INTERSECTION)
    identical(name, wanted) && (is.null(sensitive_features) || about == sensitive_features)
  }
  result <- Find(fits, x$results)
  if (is.null(result)) {
    about <- if (wanted %in% c("madd", "abroca")) "a picture of scores" else "a picture"
    stop_argument("kind", listed(kind), paste0(about, ", which this report does not have"))
  }
  names <- unlist(result$counts$groups)
  compared <- lapply(result$comparisons, function(c) c(c$group, c$reference))
  if (!length(compared)) {
    compared <- lapply(setdiff(names, result$reference), c, result$reference)
  }
  groups <- vapply(compared, `[`, "", 1L)
  chosen <- if (is.null(group)) 1L else match(group, groups)
  if (is.na(chosen)) {
    stop_argument("group", listed(group), paste("one of", listed(groups)))
  }
  pair <- compared[[chosen]]
  draw <- switch(
    kind,
    scores = scores_of,
    bandwidth = bandwidth_of,
    roc = roc_of,
    calibration = calibration_of,
    posterior = posterior_of,
    power = power_of
  )
  row <- if (length(result$comparisons)) result$comparisons[[chosen]]
  about <- list(level = result$settings$confidence_level, result = result, row = row)
  draw(result$counts, match(pair, names), pair, about, ...)
  invisible(x)
}

#' @rdname plot.fairstats_audit
#' @export
plot.fairstats_table <- function(x, metric = NULL, ...) {
  rows <- as.data.frame(x)
  if (is.null(rows$metric)) {
    rows$metric <- "estimate"
  }
  if (is.null(metric)) {
    metric <- rows$metric[1L]
  }
  rows <- rows[rows$metric %in% metric & is.finite(rows$ci_low), , drop = FALSE]
  if (!nrow(rows)) {
    stop_argument("metric", listed(metric), listed(unique(x$metric)))
  }
  rows$label <- sub("^[^:]*: ", "", row_labels(rows))
  draw_intervals(rows, "label", neutral_value(metric), xlab = paste(metric, "with interval"), ...)
  invisible(x)
}

# The value of a metric that means no difference.
neutral_value <- function(metric) if (grepl("impact|conditional", metric)) 1 else 0

#' @rdname plot.fairstats_audit
#' @export
plot.fairstats_comparison <- function(x, ...) {
  quantities <- factor(x$quantity, rev(unique(x$quantity)))
  within <- x$difference / pmax(x$tolerance, .Machine$double.xmin)
  graphics::stripchart(
    log10(pmax(within, 1e-12)) ~ quantities,
    pch = 19L,
    las = 1L,
    col = SERIES[1L],
    xlab = "log10 of difference over tolerance",
    ...
  )
  graphics::abline(v = 0, lty = 3L, col = "grey40")
  invisible(x)
}

#' @rdname plot.fairstats_audit
#' @export
plot.fairstats_ecd <- function(x, ...) {
  tails <- x$tails
  m <- exp(seq(log(min(1.05 / tails$rate)), log(20 * x$interactions), length.out = 60L))
  lines <- vapply(
    seq_len(nrow(tails)),
    function(k) {
      tail <- tails[k, ]
      gained <- m * tail$rate
      excess <- if (abs(tail$shape) < 1e-9) log(gained) else (gained^tail$shape - 1) / tail$shape
      ifelse(gained >= 1, tail$threshold + tail$scale * excess, NA)
    },
    m
  )
  top <- max(lines, tails$ci_high[is.finite(tails$ci_high)], tails$return_level, na.rm = TRUE)
  graphics::plot(
    range(m),
    c(0, top),
    type = "n",
    log = "x",
    xlab = "interactions",
    ylab = "return level of discrimination",
    ...
  )
  graphics::abline(v = x$interactions, lty = 3L, col = "grey40")
  for (k in seq_len(nrow(tails))) {
    graphics::lines(m, lines[, k], col = SERIES[k], lty = k, lwd = 2)
    graphics::segments(
      x$interactions,
      tails$ci_low[k],
      x$interactions,
      tails$ci_high[k],
      col = SERIES[k],
      lwd = 3
    )
    graphics::points(x$interactions, tails$return_level[k], col = SERIES[k], pch = 19L)
  }
  graphics::legend(
    "topleft",
    tails$group,
    col = SERIES,
    lty = seq_len(nrow(tails)),
    lwd = 2,
    bty = "n"
  )
  invisible(x)
}

# Estimates and intervals of one metric, group by group.
forest_of <- function(table, metric, sensitive_features, ...) {
  if (is.null(sensitive_features)) {
    sensitive_features <- table$sensitive_features[1L]
  }
  part <- table[table$sensitive_features == sensitive_features & is.finite(table$ci_low), ]
  if (is.null(metric)) {
    metric <- part$metric[1L]
  }
  rows <- part[part$metric == metric, ]
  if (!nrow(rows)) {
    stop_argument("metric", listed(metric), paste("one of", listed(unique(part$metric))))
  }
  neutral <- neutral_value(metric)
  log <- if (neutral == 1 && all(rows$ci_low > 0)) "x" else ""
  draw_intervals(rows, "group", neutral, xlab = paste(metric, "with interval"), log = log, ...)
}

# Estimates and intervals of rows, named by a column, beside the value of no effect.
draw_intervals <- function(rows, label, neutral, xlab = "estimate with interval", log = "", ...) {
  at <- rev(seq_len(nrow(rows)))
  colour <- rep("grey30", nrow(rows))
  judged <- rows$verdict %in% names(VERDICT_COLOURS)
  colour[judged] <- VERDICT_COLOURS[rows$verdict[judged]]
  high <- ifelse(is.finite(rows$ci_high), rows$ci_high, rows$estimate)
  widest <- max(nchar(rows[[label]]))
  old <- graphics::par(mar = c(4, min(14, 2 + 0.5 * widest), 2, 1))
  on.exit(graphics::par(old))
  graphics::plot(
    range(rows$ci_low, high, neutral, na.rm = TRUE),
    c(0.5, nrow(rows) + 0.5),
    type = "n",
    yaxt = "n",
    ylab = "",
    xlab = xlab,
    log = log,
    ...
  )
  graphics::abline(v = neutral, col = "grey60")
  graphics::segments(rows$ci_low, at, high, at, col = colour, lwd = 2)
  shape <- ifelse(rows$verdict %in% "violated", 18L, 19L)
  graphics::points(rows$estimate, at, pch = rep_len(shape, nrow(rows)), col = colour, cex = 1.4)
  graphics::axis(2L, at, rows[[label]], las = 1L, tick = FALSE)
}

# Shares of two groups in bins, one column each.
shares_in <- function(counts, which, edges) {
  table <- as.matrix(counts$counts)[which, , drop = FALSE]
  bins <- length(edges) - 1L
  bin <- findInterval(c(0, unlist(counts$edges)) + 1e-12, edges, rightmost.closed = TRUE)
  apply(table, 1L, function(row) {
    tapply(row, factor(bin, seq_len(bins)), sum, default = 0) / sum(row)
  })
}

# Histograms of two groups in the bins that are judged; where they differ is MADD.
scores_of <- function(counts, which, names, about, ...) {
  edges <- c(0, unlist(about$row$edges), 1)
  bins <- length(edges) - 1L
  parts <- matrix(as.matrix(about$row$counts), 2L)
  parts <- t(parts / rowSums(parts))
  shares <- parts / diff(edges)
  graphics::plot(
    c(0, 1),
    c(0, 1.3 * max(shares)),
    type = "n",
    xlab = "score",
    ylab = "density",
    ...
  )
  low <- pmin(shares[, 1L], shares[, 2L])
  high <- pmax(shares[, 1L], shares[, 2L])
  graphics::rect(edges[-length(edges)], low, edges[-1L], high, col = "#a3161b44", border = NA)
  for (k in 1:2) {
    graphics::lines(
      edges,
      c(shares[, k], shares[bins, k]),
      type = "s",
      col = SERIES[k],
      lty = k,
      lwd = 2
    )
  }
  keys <- c(
    names,
    sprintf("differ: MADD in %d bins %.3f", bins, sum(abs(parts[, 1L] - parts[, 2L])))
  )
  graphics::legend(
    "top",
    keys,
    col = c(SERIES[1:2], "#a3161b"),
    lty = c(1:2, 1L),
    lwd = 2,
    bty = "n"
  )
}

# Counts of negatives and positives by score of one group, as a matrix of two columns.
label_counts <- function(counts, g) {
  held <- counts$counts
  if (is.array(held)) {
    return(t(held[g, , ]))
  }
  do.call(cbind, lapply(held[[g]], unlist))
}

unit_square <- function(xlab, ylab, ...) {
  graphics::plot(c(0, 1), c(0, 1), type = "n", xlab = xlab, ylab = ylab, ...)
}

roc_of <- function(counts, which, names, about, ...) {
  curves <- lapply(which, function(g) {
    apply(label_counts(counts, g), 2L, function(n) c(0, cumsum(rev(n)) / max(sum(n), 1)))
  })
  unit_square("false positive rate", "true positive rate", ...)
  outline <- rbind(curves[[1L]], curves[[2L]][rev(seq_len(nrow(curves[[2L]]))), ])
  graphics::polygon(outline, col = "#a3161b44", border = NA)
  graphics::abline(0, 1, col = "grey60")
  for (k in 1:2) {
    graphics::lines(curves[[k]], col = SERIES[k], lty = k, lwd = 2)
  }
  graphics::legend("bottomright", names, col = SERIES, lty = 1:2, lwd = 2, bty = "n")
}

calibration_of <- function(counts, which, names, about, ...) {
  z2 <- stats::qnorm((1 + about$level) / 2)^2
  lower <- if (length(counts$lower)) unlist(counts$lower) else unlist(counts$values)
  middle <- (lower + unlist(counts$values)) / 2
  unit_square("score", "share with Y = 1", ...)
  graphics::abline(0, 1, col = "grey60")
  for (k in 1:2) {
    n <- label_counts(counts, which[k])
    rows <- rowSums(n)
    bins <- max(1, min(10, floor(sum(rows) / 20)))
    bin <- pmin(ceiling(cumsum(rows) / sum(rows) * bins - 1e-9), bins)
    sums <- rowsum(cbind(rows, n[, 2L], rows * middle), bin)
    sums <- sums[sums[, 1L] > 0, , drop = FALSE]
    rate <- sums[, 2L] / sums[, 1L]
    centre <- (sums[, 2L] + z2 / 2) / (sums[, 1L] + z2)
    half <- sqrt(z2 * (sums[, 1L] * rate * (1 - rate) + z2 / 4)) / (sums[, 1L] + z2)
    score <- sums[, 3L] / sums[, 1L]
    graphics::segments(score, centre - half, score, centre + half, col = SERIES[k])
    graphics::lines(score, rate, col = SERIES[k], lty = k, lwd = 2, type = "b", pch = 19L)
  }
  graphics::legend("topleft", names, col = SERIES, lty = 1:2, lwd = 2, bty = "n")
}

# MADD by number of bins: those into which the report's finer counts fit whole.
bandwidth_of <- function(counts, which, names, about, ...) {
  inner <- unlist(counts$edges)
  fits <- function(m) all(vapply(seq_len(m - 1L) / m, function(e) min(abs(inner - e)) < 1e-9, NA))
  bins <- Filter(fits, 2:min(1000L, length(inner) + 1L))
  madd <- vapply(bins, function(m) sum(abs(shares_in(counts, which, 0:m / m) %*% c(1, -1))), 0)
  graphics::plot(
    bins,
    madd,
    type = "b",
    pch = 19L,
    log = "x",
    ylim = c(0, max(madd)),
    col = SERIES[1L],
    xlab = "bins",
    ylab = paste("MADD,", names[1L], "against", names[2L]),
    ...
  )
  stable <- about$row$bandwidth
  if (length(stable)) graphics::abline(v = 1 / c(stable$low, stable$high), lty = 3L, col = "grey40")
}

# Two differences of rates: draws, regions of highest density, and where both are practically nil.
posterior_of <- function(counts, which, names, about, ...) {
  prior <- as.matrix(about$result$prior)[which, , drop = FALSE]
  table <- as.matrix(counts$totals)[which, , drop = FALSE]
  dimnames(prior) <- dimnames(table) <- NULL
  colnames(table) <- unlist(counts$cells)
  draws <- fs_um_draws(table, 2000, prior[, match(CELLS, colnames(table))], about$result$target)
  apart <- sapply(
    c("fpr", "tpr"),
    function(rate) fs_um_metric(draws, rate, "difference", 2)[, 1L],
    USE.NAMES = FALSE
  )
  apart <- apart[stats::complete.cases(apart), , drop = FALSE]
  width <- apply(apart, 2L, stats::sd) * nrow(apart)^(-1 / 6)
  axes <- lapply(1:2, function(j) seq(min(apart[, j]), max(apart[, j]), length.out = 60L))
  kernel <- function(at, j) stats::dnorm(outer(at, apart[, j], "-") / width[j]) / width[j]
  surface <- tcrossprod(kernel(axes[[1L]], 1L), kernel(axes[[2L]], 2L)) / nrow(apart)
  # a draw's own kernel is no evidence of other draws where it lies
  own <- stats::dnorm(0)^2 / prod(width)
  density <- (rowSums(kernel(apart[, 1L], 1L) * kernel(apart[, 2L], 2L)) - own) / (nrow(apart) - 1)
  rope <- about$result$table_rope
  graphics::plot(
    apart,
    pch = ".",
    col = "grey50",
    xlim = range(apart[, 1L], -rope, rope),
    ylim = range(apart[, 2L], -rope, rope),
    xlab = paste("false positive rate,", names[1L], "less", names[2L]),
    ylab = "true positive rate, likewise",
    ...
  )
  graphics::rect(-rope, -rope, rope, rope, border = "#17663f", lty = 2L)
  graphics::contour(
    axes[[1L]],
    axes[[2L]],
    surface,
    levels = stats::quantile(density, c(0.05, 0.5)),
    labels = c("95%", "50%"),
    add = TRUE,
    col = SERIES[1L],
    lwd = 2
  )
}

# Power of showing a ratio of rates below the threshold, by the true ratio.
power_of <- function(counts, which, names, about, ...) {
  n <- round(rowSums(as.matrix(counts$totals))[which])
  rate <- about$row$rate_reference
  threshold <- about$result$settings$threshold
  threshold <- if (length(threshold)) threshold else 0.8
  if (!is.finite(rate) || rate <= 0 || rate >= 1) {
    stop_argument("kind", '"power"', "a reference with a rate in (0, 1)")
  }
  ratio <- seq(0.4, 0.99, length.out = 25L) * threshold
  power <- vapply(
    ratio,
    function(r) fs_power_ratio(rate, r, n[1L], n[2L], threshold, level = about$level),
    0
  )
  graphics::plot(
    ratio,
    power,
    type = "l",
    lwd = 2,
    col = SERIES[1L],
    ylim = c(0, 1),
    xlab = paste("true ratio,", names[1L], "to", names[2L]),
    ylab = paste("probability to show it below", threshold),
    ...
  )
  graphics::abline(h = 0.8, lty = 3L, col = "grey40")
}
