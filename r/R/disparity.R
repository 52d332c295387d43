# Conditional demographic disparity (Wachter, Mittelstadt and Russell 2021): the share of a group
# among the rejected less that among the accepted, within strata, which count by their rows. Limits
# of the weighted sum from the score limits of every stratum (MOVER).

CONDITIONAL_DISPARITY <- "conditional_demographic_disparity"
FEWEST_DECIDED <- 50

# Ends at a critical value and z of one group. `r`, `a`: its rejected and accepted rows by stratum;
# `R`, `A`: all.
disparity_method <- function(r, R, a, A) {
  w <- (R + A) / sum(R + A)
  d <- r / R - a / A
  scores <- lapply(seq_along(r), function(h) {
    score_method(r[h], R[h], a[h], A[h], "difference", TRUE, FALSE)
  })
  estimate <- sum(w * d)
  std_error <- sqrt(sum(w^2 * (r / R * (1 - r / R) / R + a / A * (1 - a / A) / A)))
  # of several strata no nearer than the standard error says: the limit of each stands where its
  # variance is smaller
  end <- function(critical, side) {
    ends <- vapply(scores, function(score) score$end(critical, side), 0)
    distance <- sqrt(sum((w * (ends - d))^2))
    if (length(d) > 1L) {
      distance <- max(distance, critical * std_error)
    }
    max(-1, min(1, estimate + side * distance))
  }
  z <- function(null) {
    distance <- estimate - null
    if (abs(distance) < 1e-12) {
      return(0)
    }
    side <- if (distance > 0) -1 else 1
    excess <- function(z) side * (end(z, side) - null)
    if (excess(30) <= 0) {
      return(sign(distance) * 30)
    }
    if (excess(1e-6) >= 0) {
      return(0)
    }
    sign(distance) * stats::uniroot(excess, c(1e-6, 30), tol = 1e-12)$root
  }
  list(
    estimate = estimate,
    std_error = std_error,
    rate = sum(w * r / R),
    rate_reference = sum(w * a / A),
    z = z,
    ends = function(critical) c(end(critical, -1), end(critical, 1))
  )
}

# Every number of one group.
crosscheck_disparity <- function(r, R, a, A, level, margin, together = 1) {
  by <- disparity_method(r, R, a, A)
  z <- c(by$z(-margin), by$z(margin), by$z(0))
  shows <- evidence_of(z[1L], z[2L], Inf, level)
  joint <- 1 - (1 - level) / together
  both <- by$ends(stats::qnorm((1 + joint) / 2))
  one <- by$ends(stats::qnorm(joint))
  bounds <- by$ends(shows$critical)
  c(
    by[c("estimate", "std_error", "rate", "rate_reference")],
    list(
      low = both[1L],
      high = both[2L],
      side_low = one[1L],
      side_high = one[2L],
      bound_low = bounds[1L],
      bound_high = bounds[2L],
      z_less = z[1L],
      p_less = stats::pnorm(z[1L]),
      z_greater = z[2L],
      p_greater = stats::pnorm(-z[2L]),
      z_equal = z[3L],
      p_equal = 2 * stats::pnorm(-abs(z[3L]))
    ),
    shows[c("p_below", "p_above", "p_inside")]
  )
}

# Rows of the tidy table. `selected`: 1 for the accepted; `stratum`: NULL for one.
disparity_rows <- function(selected, stratum, grouping, options) {
  if (is.null(stratum)) {
    stratum <- rep("all", length(selected))
  }
  of <- function(keep) {
    table(factor(stratum)[keep], factor(grouping$labels, grouping$groups)[keep])
  }
  rejected <- of(selected == 0)
  accepted <- of(selected == 1)
  fits <- rowSums(rejected) > 0 & rowSums(accepted) > 0
  level <- options$confidence_level
  together <- if (options$simultaneous == "none") 1 else length(grouping$groups)
  found <- bind_rows(lapply(seq_along(grouping$groups), function(g) {
    R <- rowSums(rejected)[fits]
    A <- rowSums(accepted)[fits]
    row <- tidy_row(
      CONDITIONAL_DISPARITY,
      grouping$groups[g],
      "the accepted",
      n = sum(R),
      n_reference = sum(A),
      method = "score (MOVER over strata)",
      confidence_level = level,
      p_below = NaN,
      p_above = NaN,
      p_inside = NaN
    )
    if (!any(fits)) {
      return(row)
    }
    one <- crosscheck_disparity(
      rejected[fits, g],
      R,
      accepted[fits, g],
      A,
      level,
      options$margin,
      together
    )
    same <- c("estimate", "std_error", "rate", "rate_reference")
    row[same] <- one[same]
    if (min(sum(R), sum(A)) < FEWEST_DECIDED) {
      return(row)
    }
    row[c("ci_low", "ci_high", "statistic", "pvalue")] <- one[c(
      "low",
      "high",
      "z_equal",
      "p_equal"
    )]
    same <- c("bound_low", "bound_high", "p_below", "p_above", "p_inside")
    row[same] <- one[same]
    row
  }))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  settle_rows(found, options)
}
