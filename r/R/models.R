# Scores of two models on the same people: change of AUC (DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44, 837-845),
# Brier score, MADD and ABROCA. For the last two rows are drawn again with the scores of both models, and the noise goes
# through the directional derivative of a sum of sizes (Fang and Santos 2019, Review of Economic Studies 86, 377-412).

# `scores`: of the baseline and of the model; `members`: rows of the group and of its reference, or of the group alone.
crosscheck_paired_scores <- function(name, scores, y, members, levels, resamples, bins = NULL) {
  of <- function(k, g) scores[[k]][members[[g]]]
  if (name %in% c("auc", "brier")) {
    own <- y[members[[1L]]]
    both <- lapply(1:2, of, g = 1L)
    return(if (name == "auc") auc_change(both, own, levels) else brier_change(both, own, levels))
  }
  samples <- lapply(1:2, function(g) lapply(1:2, of, g = g))
  if (name == "madd") return(madd_change(samples, levels, resamples, bins))
  abroca_change(samples, lapply(members, function(m) y[m]), levels, resamples)
}

normal_change <- function(before, after, s, df, levels, rows) {
  at <- after - before
  q <- stats::qt((1 + levels) / 2, df)
  same <- s < 1e-12 && abs(at) < 1e-12
  # no row told the models apart: by how many it could yet be
  reach <- if (same) vapply(q, function(c) sqrt(sum((c^2 / (rows + c^2))^2)), 0) else q * s
  z <- if (same) 0 else at / s
  list(
    before = before, after = after, estimate = at, std_error = if (same) 0 else s, low = at - reach[1L],
    high = at + reach[1L], joint_low = at - reach[2L], joint_high = at + reach[2L], statistic = z,
    pvalue = 2 * stats::pt(-abs(z), df)
  )
}

# Placements: of a favourable row the share of the others below it, ties half; and the other way round.
placements <- function(score, y) {
  up <- score[y == 1]
  down <- score[y == 0]
  list(
    up = vapply(up, function(x) mean((down < x) + (down == x) / 2), 0),
    down = vapply(down, function(x) mean((up > x) + (up == x) / 2), 0)
  )
}

auc_change <- function(scores, y, levels) {
  p <- lapply(scores, placements, y = y)
  d <- lapply(c("up", "down"), function(side) p[[2L]][[side]] - p[[1L]][[side]])
  s <- sqrt(sum(vapply(d, function(v) stats::var(v) / length(v), 0)))
  normal_change(mean(p[[1L]]$up), mean(p[[2L]]$up), s, Inf, levels, lengths(d))
}

brier_change <- function(scores, y, levels) {
  e <- lapply(scores, function(s) (s - y)^2)
  n <- length(y)
  normal_change(mean(e[[1L]]), mean(e[[2L]]), stats::sd(e[[2L]] - e[[1L]]) / sqrt(n), n - 1, levels, n)
}

madd_change <- function(samples, levels, resamples, bins = NULL) {
  n <- vapply(samples, function(s) length(s[[1L]]), 0)
  if (is.null(bins)) bins <- max(ceiling(1 / sum(n^-0.5)^(2 / 3)), 2)
  edges <- seq_len(bins - 1) / bins
  codes <- lapply(samples, lapply, function(x) findInterval(x, edges) + 1L)
  share <- function(code) tabulate(code, bins) / length(code)
  apart <- function(at) {
    vapply(1:2, function(k) share(codes[[1L]][[k]][at[[1L]]]) - share(codes[[2L]][[k]][at[[2L]]]), numeric(bins))
  }
  seen <- apart(lapply(n, seq_len))
  drawn <- lapply(seq_len(resamples), function(b) apart(lapply(n, function(size) sample.int(size, size, TRUE))))
  near <- max(3, sqrt(log(min(n))), sqrt(2 * log(bins)))
  directional_change(colSums(abs(seen)), seen, drawn, near, 1, 2, levels, n, pseudo = 4)
}

abroca_change <- function(samples, labels, levels, resamples) {
  grid <- (seq_len(257) - 0.5) / 257
  curve <- function(score, y) {
    values <- sort(unique(score))
    at <- match(score, values)
    roc_points(tabulate(at[y == 0], length(values)), tabulate(at[y == 1], length(values)))
  }
  areas <- vapply(1:2, function(k) {
    roc_area_between(curve(samples[[1L]][[k]], labels[[1L]]), curve(samples[[2L]][[k]], labels[[2L]]))
  }, 0)
  strata <- lapply(labels, function(y) list(which(y == 0), which(y == 1)))
  apart <- function(at) {
    vapply(1:2, function(k) {
      heights <- lapply(1:2, function(g) roc_at(curve(samples[[g]][[k]][at[[g]]], labels[[g]][at[[g]]]), grid))
      heights[[1L]] - heights[[2L]]
    }, grid)
  }
  drawn <- lapply(seq_len(resamples), function(b) {
    apart(lapply(strata, function(s) unlist(lapply(s, function(rows) rows[sample.int(length(rows), replace = TRUE)]))))
  })
  directional_change(areas, apart(lapply(labels, seq_along)), drawn, 3, 1 / 257, 1, levels, lengths(unlist(strata, FALSE)))
}

# Limits of the change of a sum of sizes. Within 0, 1.5 and `near` standard errors a difference may be 0: three laws of
# the noise, of which the widest interval is taken, widened as if `pseudo` rows of either group had changed besides.
directional_change <- function(sizes, seen, drawn, near, step, most, levels, rows, pseudo = 0) {
  n <- length(drawn)
  noise <- array(unlist(drawn), c(nrow(seen), 2L, n)) - as.vector(seen)
  spread <- apply(noise, 1:2, function(h) sqrt(mean((h - mean(h))^2)))
  laws <- vapply(c(0, 1.5, near), function(reach) {
    own <- vapply(1:2, function(k) {
      zero <- abs(seen[, k]) < reach * spread[, k]
      h <- matrix(noise[, k, ], nrow(seen))
      step * (colSums(h * ifelse(zero, 0, sign(seen[, k]))) + colSums(abs(h[zero, , drop = FALSE])))
    }, numeric(n))
    sort(own[, 2L] - own[, 1L])
  }, numeric(n))
  at <- sizes[2L] - sizes[1L]
  areas <- step * apply(abs(noise + as.vector(seen)), 2:3, sum)
  change <- areas[2L, ] - areas[1L, ]
  s <- stats::sd(change)
  laws <- laws * sqrt(1 + pseudo * sum((most / rows)^2) / max(s, 1e-12)^2)
  end <- function(level, side) {
    k <- floor((1 - level) / 2 * (n + 1) + 1e-9)
    if (k < 1) return(side * most)
    if (side < 0) max(at - max(laws[n + 1 - k, ]), -most) else min(at - min(laws[k, ]), most)
  }
  if (s < 1e-12) {
    c <- stats::qnorm((1 + levels[1L]) / 2)
    reach <- most * sqrt(sum((c^2 / (rows + c^2))^2))
    end <- function(level, side) side * reach
  }
  # of a quantile of two simulations of this size
  tail <- (1 - levels[1L]) / 2
  error <- sqrt(s^2 + pseudo * sum((most / rows)^2)) * sqrt(2 * tail * (1 - tail) / n) / stats::dnorm(stats::qnorm(tail))
  list(
    before = sizes[1L], after = sizes[2L], estimate = at, std_error = s, std_error_error = s / sqrt(n),
    low = end(levels[1L], -1), high = end(levels[1L], 1), low_error = error, high_error = error
  )
}

#' What a mitigation changes on the same people
#'
#' Scores before and after a mitigation as two models: change of MADD by rows drawn again (on one grid, which depends on
#' the group sizes only), of disparate impact and accuracy by the paired score test, all by group against the reference;
#' accuracy also of all rows. The twin of what `MaddMitigator.evaluate` returns in Python.
#'
#' @inheritParams fs_disparate_impact
#' @param y_true Outcome, two values.
#' @param before,after Scores in \[0, 1\] of the same people.
#' @param cut Scores from it on predict the favourable outcome.
#' @param n_bins Bins of MADD; default by the group sizes.
#' @param n_resamples Samples drawn for the change of MADD.
#' @param reference Reference group; default the largest.
#' @param pos_label,confidence_level,adjust As in [fs_audit()].
#' @return A data frame: metric, group, reference, before, after, estimate, std_error, ci_low, ci_high; accuracy
#'   has no reference.
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
#'   algorithmic unfairness with the MADD metric. Journal of Educational Data Mining 16(1), 365-409.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' people$closer <- (people$score + mean(people$score)) / 2
#' fs_mitigation(people, "qualified", "score", "closer", "sex", pos_label = "yes", n_resamples = 99)
#' @export
fs_mitigation <- function(data = NULL, y_true, before, after, sensitive_features, reference = NULL, pos_label = 1,
                          cut = 0.5, n_bins = NULL, confidence_level = 0.95, n_resamples = 1999, adjust = "holm") {
  scores <- lapply(list(before, after), function(s) as.numeric(column_of(data, s, "score")))
  input <- read_columns(data, y_true, NULL, NULL, sensitive_features, pos_label)
  if (any(lengths(scores) != input$n) || anyNA(unlist(scores))) {
    stop_argument("before", "missing values or another length", "a score of every row, before and after")
  }
  grouping <- make_groups(input$attributes)
  at <- make_pairs(grouping, reference_of(reference, names(input$attributes), 1L), "reference")
  rows <- data.frame(group = grouping$labels, y = input$y_true)
  rows[c("before", "after")] <- lapply(scores, function(s) as.numeric(s >= cut))
  rates <- fs_compare_models(rows, "y", c(before = "before", after = "after"), "group", c("disparate_impact", "accuracy"),
    reference = grouping$groups[at[1L, 2L]], confidence_level = confidence_level, adjust = adjust
  )
  totals <- matrix(as.numeric(table(factor(paste0(rows$y, rows$before, rows$after), PAIRED_CELLS))), 1L)
  one <- crosscheck_paired(totals, totals, 1L, PAIRED_CELLS, "accuracy", "level", rep(confidence_level, 3L))
  every <- change_row("accuracy", "all rows", "", one)
  apart <- bind_rows(lapply(seq_len(nrow(at)), function(k) {
    who <- grouping$groups[at[k, ]]
    members <- lapply(who, function(g) which(grouping$labels == g))
    one <- crosscheck_paired_scores("madd", scores, input$y_true, members, rep(confidence_level, 2L), n_resamples, n_bins)
    change_row("madd", who[1L], who[2L], one)
  }))
  found <- rbind(apart, rates[names(apart)], as.data.frame(every))
  found$metric <- paste0(found$metric, "_change")
  found
}

# A change as it stands in a table.
change_row <- function(metric, group, reference, one) {
  list(
    metric = metric, group = group, reference = reference, before = one$before, after = one$after,
    estimate = one$estimate, std_error = one$std_error, ci_low = one$low, ci_high = one$high
  )
}
