# Ratios and differences within the strata of a confounder: the stratified score. With p the rates
# of each stratum that maximise the likelihood under the null hypothesis (Miettinen and Nurminen
# 1985, Statistics in Medicine 4, 213-226) and the weights w = n1 n0 / N of Mantel and Haenszel
# (1959, Journal of the National Cancer Institute 22, 719-748),
#   z = sum(w S) / sqrt(sum(w^2 V)),  S = r1 - null r0 or r1 - r0 - null,  V = Var(S) N / (N - 1),
# of an odds ratio S = r1 (1 - r0) - null r0 (1 - r1). Where a group is compared with everybody, its
# own rows among them, 0 is all others, and S holds f r1 + (1 - f) r0 in place of r0, f the group's
# share in the cases of the stratum (overall.R).

# Below so many cases of a group nothing but equality is judged; below so many expected successes or
# failures equality is tested exactly as well, where the sum of successes has at most so many
# values.
FEWEST_IN_STRATA <- 20
EXACT_IN_STRATA <- 10
MOST_VALUES <- 20000

# Counts: strata x groups x cells; `cell`: the column of each row.
stratum_cells <- function(stratum, labels, groups, cell, size) {
  cells <- table(factor(stratum), factor(labels, groups), factor(cell, seq_len(size)))
  array(as.numeric(cells), dim(cells))
}

# Successes and cases of a pair of groups in the strata that both share; part: columns of successes
# and cases.
stratum_table <- function(cells, part, i, j, of_all = FALSE) {
  of <- function(g, columns) rowSums(matrix(cells[, g, columns], dim(cells)[1L]))
  t <- list(
    k1 = of(i, part$success),
    n1 = of(i, part$case),
    k0 = of(j, part$success),
    n0 = of(j, part$case)
  )
  if (of_all) {
    t$f <- t$n1 / pmax(t$n1 + t$n0, 1)
  }
  shared <- t$n1 > 0 & t$n0 > 0
  lapply(t, function(x) x[shared])
}

# Of effective counts, which weighted and clustered rows have, the weights stand beside them.
# Beside everybody n1 makes them those of all others: n1 (r1 - r_all) = n1 n0 / N (r1 - r0).
mh_weight <- function(t) {
  if (!is.null(t$w)) {
    return(t$w)
  }
  if (is.null(t$f)) t$n1 * t$n0 / (t$n1 + t$n0) else t$n1
}

# The rate that a group is compared with: of the reference, or of everybody.
rate_beside <- function(t) {
  if (is.null(t$f)) t$k0 / t$n0 else t$f * t$k1 / t$n1 + (1 - t$f) * t$k0 / t$n0
}

mh_estimate <- function(t, contrast) {
  w <- mh_weight(t)
  if (contrast == "difference") {
    return(sum(w * (t$k1 / t$n1 - rate_beside(t))) / sum(w))
  }
  if (contrast == "odds_ratio") {
    of_group <- sum(w * t$k1 / t$n1 * (t$n0 - t$k0) / t$n0)
    return(of_group / sum(w * t$k0 / t$n0 * (t$n1 - t$k1) / t$n1))
  }
  sum(w * t$k1 / t$n1) / sum(w * rate_beside(t))
}

# N / (N - 1); effective cases may be fewer than two.
corrected_size <- function(n) pmax(n, 2) / pmax(n - 1, 1)

# S and V of every stratum, and the third central moment of S.
score_moments <- function(t, contrast, null) {
  if (contrast == "odds_ratio") {
    return(odds_moments(t, null))
  }
  ratio <- contrast == "ratio"
  a <- 1
  b <- if (ratio) null else 1
  beside <- null
  if (!is.null(t$f)) {
    a <- if (ratio) pmax(1 - null * t$f, 0) else 1 - t$f
    b <- if (ratio) null * (1 - t$f) else 1 - t$f
    beside <- vapply(t$f, function(f) scale_of_all(contrast, f)$null(null), 0)
  }
  p <- constrained_rates(t$k1, t$n1, t$k0, t$n0, contrast, beside)
  n <- t$n1 + t$n0
  v1 <- p$p0 * (1 - p$p0) / t$n1
  v0 <- p$p1 * (1 - p$p1) / t$n0
  of_all <- if (is.null(t$f)) p$p1 else t$f * p$p0 + (1 - t$f) * p$p1
  r1 <- t$k1 / t$n1
  list(
    s = if (ratio) r1 - null * rate_beside(t) else r1 - rate_beside(t) - null,
    v = (a^2 * v1 + b^2 * v0) * corrected_size(n),
    third = a^3 * v1 * (1 - 2 * p$p0) / t$n1 - b^3 * v0 * (1 - 2 * p$p1) / t$n0,
    reference = of_all
  )
}

# The same of an odds ratio. The rates of the reference under it solve a quadratic; with the
# deviations A and B of both rates from theirs, S = aA - bB + (null - 1)AB.
odds_moments <- function(t, null) {
  hits <- t$k1 + t$k0
  linear <- t$n1 * null + t$n0 - hits * (null - 1)
  p0 <- 2 * hits / (linear + sqrt(pmax(linear^2 + 4 * t$n0 * (null - 1) * hits, 0)))
  p0 <- pmin(pmax(p0, 0), 1)
  p1 <- null * p0 / (1 + (null - 1) * p0)
  p1[p0 == 1] <- 1
  v1 <- p1 * (1 - p1) / t$n1
  v0 <- p0 * (1 - p0) / t$n0
  m1 <- v1 * (1 - 2 * p1) / t$n1
  m0 <- v0 * (1 - 2 * p0) / t$n0
  a <- 1 - p0 + null * p0
  b <- p1 + null * (1 - p1)
  d <- null - 1
  n <- t$n1 + t$n0
  r1 <- t$k1 / t$n1
  r0 <- t$k0 / t$n0
  # E[(aA - bB + dAB)^3], the groups independent of each other
  third <- a^3 *
    m1 -
    b^3 * m0 +
    d^3 * m1 * m0 +
    3 * d^2 * (a * m1 * v0 - b * v1 * m0) -
    6 * a * b * d * v1 * v0
  list(
    s = r1 * (1 - r0) - null * r0 * (1 - r1),
    v = (a^2 * v1 + b^2 * v0 + d^2 * v1 * v0) * corrected_size(n),
    third = third,
    reference = r0 * (1 - r1)
  )
}

strata_z <- function(t, contrast, null, guarded = FALSE) {
  w <- mh_weight(t)
  m <- score_moments(t, contrast, null)
  d <- sum(w * m$s)
  if (abs(d) <= 1e-13 * sum(w * abs(m$s))) {
    return(0)
  }
  spread <- sqrt(sum(w^2 * m$v))
  if (spread == 0) {
    return(sign(d) * Inf)
  }
  z <- d / spread
  if (!guarded) {
    return(z)
  }
  # the less favourable of the normal tail and that of a gamma law with the same skewness (Pearson's
  # type III)
  g <- sum(w^3 * m$third) / spread^3
  if (abs(g) <= 1e-4) {
    return(z)
  }
  beyond <- stats::pgamma(max(4 / g^2 + 2 * z / g, 0), 4 / g^2, lower.tail = (g > 0) != (z > 0))
  sign(z) * min(abs(z), -stats::qnorm(min(beyond, 0.5)))
}

# Estimate, z and ends by critical value, as score_method() has them for one table.
strata_method <- function(t, contrast, guarded = FALSE, scale = NULL) {
  ratio <- contrast != "difference"
  centre <- mh_estimate(t, contrast)
  z <- function(null) {
    value <- strata_z(t, contrast, null, guarded)
    if (is.null(scale)) value else scale(null) * value
  }
  edge <- if (ratio) 40 else 1
  from <- if (ratio) max(-edge, min(edge, log(centre))) else centre
  at_end <- function(side) centre == (if (side < 0) 0 else Inf)
  ends_by_score(centre, z, ratio, edge, from, at_end)
}

# Standard error of the estimate, by the score's variance at it.
mh_error <- function(t, contrast) {
  estimate <- mh_estimate(t, contrast)
  if (!is.finite(estimate) || (contrast != "difference" && estimate <= 0)) {
    return(NaN)
  }
  w <- mh_weight(t)
  m <- score_moments(t, contrast, estimate)
  slope <- switch(contrast, ratio = rate_beside(t), odds_ratio = m$reference, 1)
  sqrt(sum(w^2 * m$v)) / sum(w * slope)
}

# Exact conditional test of equal rates: the sum of the successes given those of every stratum has
# the convolution of their hypergeometric laws (Gart 1970, Biometrika 57, 471-475). Twice the
# smaller tail.
exact_conditional <- function(t) {
  law <- conditional_law(t)
  less <- law$at_most(1)
  greater <- law$at_least(1)
  list(values = law$values, p = min(1, 2 * min(less, greater)))
}

# The law of that sum, tilted by an odds ratio: probabilities of as few and of as many, and the odds
# ratios at which they are a given error. Laws are made near the odds ratio at which they are asked:
# at 1 some hundred successes of a strong effect have probabilities that no number holds.
conditional_law <- function(t) {
  hits <- t$k1 + t$k0
  seen <- sum(t$k1 - pmax(0, hits - t$n0)) + 1
  values <- strata_size(t)$values
  at_equality <- tilted_law(t, 0)
  # Mantel and Haenszel's odds ratio with half a case more in every cell
  weight <- informative(t) / (t$n1 + t$n0 + 2)
  with_effect <- sum(weight * (t$k1 + 0.5) * (t$n0 - t$k0 + 0.5))
  against_it <- sum(weight * (t$k0 + 0.5) * (t$n1 - t$k1 + 0.5))
  tilt <- if (with_effect > 0) log(with_effect / against_it) else 0
  at_estimate <- tilted_law(t, tilt)
  at_most <- function(odds, law = at_equality) sum(law(log(odds))[seq_len(seen)])
  at_least <- function(odds, law = at_equality) sum(law(log(odds))[seen:values])
  limit <- function(side, error) {
    if (side < 0 && seen == 1L) {
      return(0)
    }
    if (side > 0 && seen == values) {
      return(Inf)
    }
    tail <- if (side < 0) at_least else at_most
    excess <- function(x) tail(exp(x), at_estimate) - error
    exp(stats::uniroot(excess, c(-40, 40), tol = 1e-12)$root)
  }
  list(values = values, at_most = at_most, at_least = at_least, limit = limit)
}

# The law of that sum at a logarithm of the odds ratio, as made at `tilt`.
tilted_law <- function(t, tilt) {
  hits <- t$k1 + t$k0
  law <- 1
  for (h in seq_along(hits)) {
    k <- max(0, hits[h] - t$n0[h]):min(t$n1[h], hits[h])
    own <- stats::dhyper(k, t$n1[h], t$n0[h], hits[h], log = TRUE) + tilt * (k - k[1L])
    own <- exp(own - max(own))
    joined <- numeric(length(law) + length(own) - 1L)
    for (place in which(own > 0)) {
      at <- place - 1L + seq_along(law)
      joined[at] <- joined[at] + own[place] * law
    }
    law <- joined
  }
  function(log_odds) {
    weight <- log(law) + (log_odds - tilt) * (seq_along(law) - 1)
    weight <- exp(weight - max(weight))
    weight / sum(weight)
  }
}

# How many values that sum can have, and the least number of successes and failures that equal rates
# let expect.
strata_size <- function(t) {
  hits <- t$k1 + t$k0
  pooled <- hits / (t$n1 + t$n0)
  list(
    values = sum(pmin(t$n1, hits) - pmax(0, hits - t$n0)) + 1,
    expected = min(
      sum(t$n1 * pooled),
      sum(t$n1 * (1 - pooled)),
      sum(t$n0 * pooled),
      sum(t$n0 * (1 - pooled))
    ),
    fewest = min(sum(t$n1), sum(t$n0))
  )
}

informative <- function(t) {
  hits <- t$k1 + t$k0
  hits > 0 & hits < t$n1 + t$n0
}

# Whether one ratio or difference holds in all informative strata, by the scores at the estimate.
score_homogeneity <- function(t, contrast) {
  estimate <- mh_estimate(t, contrast)
  kept <- informative(t)
  df <- sum(kept) - 1
  if (df < 1 || !is.finite(estimate) || (contrast == "ratio" && estimate <= 0)) {
    return(c(NaN, NaN))
  }
  m <- score_moments(t, contrast, estimate)
  slope <- if (contrast == "ratio") m$reference else rep(1, length(m$s))
  kept <- kept & m$v > 0
  u <- ifelse(kept, 1 / m$v, 0)
  q <- max(0, sum(m$s^2 * u) - sum(slope * m$s * u)^2 / sum(slope^2 * u))
  c(q, stats::pchisq(q, df, lower.tail = FALSE))
}

# Breslow-Day test of one odds ratio in all informative strata, with Tarone's adjustment; expected
# counts by uniroot.
tarone_test <- function(t) {
  # that odds beside everybody are alike is that those beside all others are
  t$f <- NULL
  kept <- informative(t)
  k1 <- t$k1[kept]
  n1 <- t$n1[kept]
  k0 <- t$k0[kept]
  n0 <- t$n0[kept]
  n <- n1 + n0
  hits <- k1 + k0
  odds <- mh_estimate(lapply(t, function(x) x[kept]), "odds_ratio")
  if (length(n) < 2L || !is.finite(odds) || odds <= 0) {
    return(c(NaN, NaN))
  }
  expected <- vapply(
    seq_along(n),
    function(h) {
      low <- max(0, hits[h] - n0[h])
      high <- min(n1[h], hits[h])
      fall <- function(x) {
        log(x) + log(n0[h] - hits[h] + x) - log(n1[h] - x) - log(hits[h] - x) - log(odds)
      }
      gap <- (high - low) * 1e-13
      stats::uniroot(
        function(x) max(-1e10, min(1e10, fall(x))),
        c(low + gap, high - gap),
        tol = 1e-13
      )$root
    },
    0
  )
  v <- 1 / (1 / expected + 1 / (n1 - expected) + 1 / (hits - expected) + 1 / (n0 - hits + expected))
  x <- max(0, sum((k1 - expected)^2 / v) - sum(k1 - expected)^2 / sum(v))
  c(x, stats::pchisq(x, length(n) - 1, lower.tail = FALSE))
}

# Every number of one comparison within strata. Vectors of successes and cases of both groups, of
# one rate or, one after the other, of the rates of which a mean is compared; `together`:
# comparisons whose intervals hold at once; `of_all`: whether 0 are all others of everybody.
crosscheck_strata <- function(
  k1,
  n1,
  k0,
  n0,
  rates,
  contrast,
  level,
  threshold,
  together = 1,
  of_all = FALSE
) {
  part <- rep(seq_len(rates), each = length(k1) / rates)
  tables <- lapply(seq_len(rates), function(r) {
    t <- list(k1 = k1[part == r], n1 = n1[part == r], k0 = k0[part == r], n0 = n0[part == r])
    if (of_all) {
      t$f <- t$n1 / pmax(t$n1 + t$n0, 1)
    }
    shared <- t$n1 > 0 & t$n0 > 0
    lapply(t, function(x) x[shared])
  })
  compare_strata(tables, contrast, level, threshold, together)
}

# `one_sided`: whether the limits of one-sided alternatives are wanted.
# `design`: of weighted or clustered rows, whose counts are effective ones: the degrees of freedom,
# what a statistic is multiplied by, the standard error, and whether clusters lie in several strata.
compare_strata <- function(
  tables,
  contrast,
  level,
  threshold,
  together = 1,
  one_sided = TRUE,
  design = NULL
) {
  names <- c(
    "estimate",
    "std_error",
    "rate",
    "rate_reference",
    "low",
    "high",
    "side_low",
    "side_high",
    "bound_low",
    "bound_high",
    "p_below",
    "p_above",
    "p_inside",
    "z",
    "p_less",
    "z_greater",
    "p_greater",
    "z_equal",
    "p_equal",
    "cmh",
    "cmh_p",
    "sum",
    "exact_p",
    "q",
    "q_p",
    "tarone",
    "tarone_p"
  )
  out <- as.list(stats::setNames(rep(NaN, length(names)), names))
  whole <- if (contrast != "difference") c(0, Inf) else c(-1, 1)
  out[c("low", "high", "side_low", "side_high", "bound_low", "bound_high")] <- rep(whole, 3L)
  if (any(vapply(tables, function(t) length(t$k1) == 0L, NA))) {
    return(out)
  }
  of <- function(f) mean(vapply(tables, f, 0))
  out$estimate <- of(function(t) mh_estimate(t, contrast))
  out$rate <- of(function(t) sum(mh_weight(t) * t$k1 / t$n1) / sum(mh_weight(t)))
  out$rate_reference <- of(function(t) sum(mh_weight(t) * rate_beside(t)) / sum(mh_weight(t)))
  if (is.nan(out$estimate)) {
    return(out)
  }
  out$std_error <- sqrt(sum(vapply(tables, function(t) mh_error(t, contrast)^2, 0))) /
    length(tables)
  df <- Inf
  scale <- NULL
  if (!is.null(design)) {
    df <- design$df
    scale <- if (design$clustered) design$scale
    out$std_error <- design$std_error
    if (df < LEAST_DF_IN_STRATA - 1e-9) {
      return(out)
    }
  }
  plain <- mover_method(lapply(tables, strata_method, contrast, scale = scale))
  guarded <- mover_method(lapply(tables, strata_method, contrast, guarded = TRUE, scale = scale))
  single <- length(tables) == 1L
  t <- tables[[1L]]
  size <- strata_size(t)
  equality <- if (contrast == "difference") 0 else 1
  out$z_equal <- plain$z(equality)
  out$p_equal <- 2 * stats::pt(-abs(out$z_equal), df)
  exact <- NaN
  if (is.null(design) && single && size$values <= MOST_VALUES) {
    out$exact_p <- exact_conditional(t)$p
    if (size$expected < EXACT_IN_STRATA) exact <- out$exact_p
  }
  if (is.null(design) && single) {
    out[c("cmh", "cmh_p")] <- mantel_haenszel_test(t, out$z_equal)
    out$sum <- sum(t$k1)
  }
  if (single && !isTRUE(design$spread)) {
    out[c("tarone", "tarone_p")] <- tarone_test(t)
    out[c("q", "q_p")] <- if (contrast == "odds_ratio") {
      out[c("tarone", "tarone_p")]
    } else {
      score_homogeneity(t, contrast)
    }
  }
  if (!is.nan(exact)) {
    out$p_equal <- max(out$p_equal, exact)
  }
  fair <- fair_range(contrast, threshold)
  at_equality <- fair[1L] == fair[2L]
  judge <- if (at_equality) plain else guarded
  shows <- evidence_of(judge$z(fair[1L]), judge$z(fair[2L]), df, level)
  ends <- judge$ends(shows$critical)
  # of an odds ratio the exact conditional law at every value, where cells are small
  odds <- if (contrast == "odds_ratio" && !is.nan(exact)) conditional_law(t)
  if (!is.null(odds)) {
    tail <- function(p) min(1, p + stats::pnorm(stats::qnorm(p) - shows$width))
    inside <- max(odds$at_least(fair[1L]), odds$at_most(fair[2L]))
    shows$p_below <- max(shows$p_below, tail(odds$at_most(fair[1L])))
    shows$p_above <- max(shows$p_above, tail(odds$at_least(fair[2L])))
    shows$p_inside <- max(shows$p_inside, tail(inside))
    error <- stats::pnorm(-shows$critical)
    ends <- c(min(ends[1L], odds$limit(-1, error)), max(ends[2L], odds$limit(1, error)))
  }
  out[c("bound_low", "bound_high")] <- reach_fair_range(ends, out$p_equal, fair, 1 - level)
  shows <- beside_equality(shows, out$p_equal, fair)
  out[c("p_below", "p_above", "p_inside")] <- shows[c("p_below", "p_above", "p_inside")]
  out$z <- judge$z(fair[1L])
  out$z_greater <- judge$z(if (contrast == "difference") fair[2L] else fair[1L])
  out$p_less <- stats::pt(out$z, df)
  out$p_greater <- stats::pt(out$z_greater, df, lower.tail = FALSE)
  if (!is.null(odds)) {
    out$p_less <- max(out$p_less, odds$at_most(fair[1L]))
    out$p_greater <- max(out$p_greater, odds$at_least(fair[1L]))
  }
  fewest <- if (is.null(design)) {
    vapply(tables, function(t) strata_size(t)$fewest, 0)
  } else {
    design$fewest
  }
  if (
    !at_equality &&
      (contrast != "odds_ratio" || !is.null(design)) &&
      any(fewest < FEWEST_IN_STRATA)
  ) {
    out[c("p_below", "p_above", "p_inside", "p_less", "p_greater")] <- NaN
  }
  joint <- 1 - (1 - level) / together
  out[c("low", "high")] <- plain$ends(stats::qt((1 + joint) / 2, df))
  if (one_sided) {
    out[c("side_low", "side_high")] <- guarded$ends(stats::qt(joint, df))
  }
  if (!is.null(odds)) {
    outer <- function(name, side, error) {
      (if (side < 0) min else max)(out[[name]], odds$limit(side, error))
    }
    out$low <- outer("low", -1, (1 - joint) / 2)
    out$high <- outer("high", 1, (1 - joint) / 2)
    if (one_sided) {
      out$side_low <- outer("side_low", -1, 1 - joint)
      out$side_high <- outer("side_high", 1, 1 - joint)
    }
  }
  # the exact test does not reject equality at the level of the interval: nor does that
  if (!is.nan(exact) && out$p_equal > 1 - joint) {
    out$low <- min(out$low, equality)
    out$high <- max(out$high, equality)
  }
  out
}

# The test of Cochran, Mantel and Haenszel by R's own function, which wants two strata, and none
# without variation.
mantel_haenszel_test <- function(t, z) {
  kept <- informative(t)
  if (sum(kept) < 2L) {
    return(c(z^2, 2 * stats::pnorm(-abs(z))))
  }
  cells <- rbind(t$k1, t$n1 - t$k1, t$k0, t$n0 - t$k0)[, kept]
  found <- stats::mantelhaen.test(array(cells, c(2L, 2L, sum(kept))), correct = FALSE)
  c(unname(found$statistic), found$p.value)
}

# What the tidy table says of a comparison within strata; `n`: rows of both sides.
tidy_row_within <- function(one, metric, group, reference, n, method, level) {
  row <- tidy_row(
    # the class, where there are several, stands last
    sub("(\\[.*)?$", "_stratified\\1", metric),
    group,
    reference,
    n = n[1L],
    n_reference = n[2L],
    method = method,
    confidence_level = level,
    ci_low = one$low,
    ci_high = one$high,
    statistic = one$z_equal,
    pvalue = one$p_equal
  )
  same <- c("estimate", "std_error", "rate", "rate_reference", "bound_low", "bound_high")
  row[same] <- one[same]
  row
}

# A row of the tidy table: a group against its reference within strata, beside what it is without
# them.
stratified_row <- function(
  one,
  tables,
  metric,
  group,
  reference,
  level,
  crude = NULL,
  design = NULL
) {
  cases <- function(name) sum(vapply(tables, function(t) sum(t[[name]]), 0))
  n <- if (is.null(design)) c(cases("n1"), cases("n0")) else design$n
  if (!is.null(tables[[1L]]$f)) {
    n[2L] <- sum(n)
  }
  method <- "stratified score"
  if (!is.null(design)) {
    method <- paste0(method, if (design$clustered) " (effective clusters)" else " (effective rows)")
  }
  row <- tidy_row_within(one, metric, group, reference, n, method, level)
  strata <- min(vapply(tables, function(t) length(t$k1), 0L))
  c(
    row,
    if (!is.null(crude)) list(crude = crude$estimate, crude_verdict = crude$verdict),
    n_strata = strata,
    pvalue_homogeneity = one$q_p
  )
}

# Tables of both sides of a pair, a table for each part of a rate, and of rows with weights or in
# clusters what these need besides. `pair`: places of the group and of what it is compared with;
# `rows`: stratum, label of the group and cell of every row.
tables_of_pair <- function(cells, parts, pair, rows, input, contrast, of_all = FALSE) {
  plain <- list(
    tables = lapply(parts, function(part) {
      stratum_table(cells, part, pair[[1L]], pair[[2L]], of_all)
    }),
    design = NULL
  )
  if (is.null(input$weight) && is.null(input$cluster)) {
    return(plain)
  }
  sums <- pair_design(
    rows$stratum,
    rows$labels,
    lapply(pair, function(place) rows$groups[place]),
    rows$cell,
    dim(cells)[3L],
    input$weight,
    input$cluster
  )
  if (is.null(sums)) plain else designed_tables(sums, parts, contrast, of_all)
}

# Adjusted comparisons of the same pairs as the `crude` ones, as one family of their own; of those
# that the data chose over all pairs (Bonferroni), as where intervals hold at once.
stratified_rows <- function(stratum, input, grouping, pairs, metric, options, crude) {
  chosen <- list(pairs = pairs, among = 0)
  if (isTRUE(attr(pairs, "highest"))) {
    chosen <- chosen_pairs(pairs, values_of_cells(metric, audit_cells(input, grouping)), options)
  }
  pairs <- chosen$pairs
  size <- if (!is.null(input$y_pred) && !is.null(input$y_true)) 4L else 2L
  cell <- if (size == 4L) 4 - 2 * input$y_pred - input$y_true else 2 - c(input$y_pred, input$y_true)
  if (!is.null(input$classes)) {
    # labels and predictions are positions of classes
    count <- length(input$classes)
    both <- size == 4L
    size <- if (both) count^2 else count
    cell <- if (both) (input$y_true - 1) * count + input$y_pred else c(input$y_pred, input$y_true)
  }
  cells <- stratum_cells(stratum, grouping$labels, grouping$groups, cell, size)
  threshold <- if (metric$contrast == "difference") options$margin else options$threshold
  together <- if (options$simultaneous == "none") 1 else nrow(pairs) * length(metric$rates)
  if (chosen$among > 0) {
    together <- chosen$among
  }
  level <- options$confidence_level
  pooled <- options$comparisons %in% POOLED
  of_all <- identical(options$comparisons, "overall")
  tasks <- expand.grid(pair = seq_len(nrow(pairs)), rate = seq_along(metric$rates))
  found <- bind_rows(lapply(seq_len(nrow(tasks)), function(row) {
    rate <- tasks$rate[row]
    pair <- pairs[tasks$pair[row], ]
    what <- as_metric(metric$rates[rate], size)
    beside <- pair[2L]
    reference <- grouping$groups[beside]
    if (pooled) {
      beside <- setdiff(seq_along(grouping$groups), pair[1L])
      reference <- if (of_all) "all" else paste("all but", grouping$groups[pair[1L]])
    }
    if (is_by_delta_in_strata(what, metric$contrast)) {
      of_rows <- list(
        stratum = stratum,
        labels = grouping$labels,
        groups = grouping$groups,
        cell = cell
      )
      values <- values_of_pair(
        cells,
        what,
        list(pair[1L], beside),
        of_rows,
        input,
        metric$contrast,
        of_all
      )
      one <- if (is.null(values)) {
        no_values_in_strata()
      } else {
        compare_values_in_strata(values, metric$contrast, level, threshold, together, FALSE)
      }
      return(delta_row(
        one,
        values,
        metric$rows[rate],
        grouping$groups[pair[1L]],
        reference,
        level,
        metric$contrast,
        crude[row, ]
      ))
    }
    of_pair <- tables_of_pair(
      cells,
      what$parts,
      list(pair[1L], beside),
      list(stratum = stratum, labels = grouping$labels, groups = grouping$groups, cell = cell),
      input,
      metric$contrast,
      of_all
    )
    tables <- of_pair$tables
    design <- of_pair$design
    one <- compare_strata(
      tables,
      metric$contrast,
      level,
      threshold,
      together,
      one_sided = FALSE,
      design = design
    )
    c(
      stratified_row(
        one,
        tables,
        metric$rows[rate],
        grouping$groups[pair[1L]],
        reference,
        level,
        crude[row, ],
        design
      ),
      one[c("p_below", "p_above", "p_inside", "cmh_p", "exact_p", "tarone_p")]
    )
  }))
  found$pvalue_adjusted <- if (chosen$among > 0) {
    pmin(chosen$among * found$pvalue, 1)
  } else {
    adjust_pvalues(found$pvalue, options$adjust)
  }
  found <- settle_rows(
    found,
    options,
    chosen$among,
    metric$contrast != "difference" && options$threshold == 1
  )
  among <- paste(dim(cells)[1L], "strata")
  if (!is.null(attr(stratum, "name"))) {
    among <- paste(among, "of", attr(stratum, "name"))
  }
  found$disagreement <- vapply(
    seq_len(nrow(found)),
    function(row) {
      disagreement_of(crude[row, ], found[row, ], metric$contrast, among)
    },
    ""
  )
  found
}

# Columns of stratified_rows() that are no columns of an audit: sentences, and further tests.
BESIDE_ROWS <- c("disagreement", "cmh_p", "exact_p", "tarone_p")

# A sentence where crude and adjusted comparison say different things, empty where they agree: other
# verdicts; or an adjusted estimate outside the crude interval that lies on the other side of
# equality, or where only one of both differs from it. `among`: the strata in words; `digits`: how
# estimates are written.
disagreement_of <- function(
  crude,
  within,
  contrast,
  among,
  digits = if (contrast == "difference") "%+.3f" else "%.3f"
) {
  unknown <- "insufficient evidence"
  if (unknown %in% c(crude$verdict, within$verdict) || is.nan(within$estimate)) {
    return("")
  }
  equality <- if (contrast == "difference") 0 else 1
  words <- gsub("_", " ", contrast, fixed = TRUE)
  error <- 1 - crude$confidence_level
  moved <- !isTRUE(crude$ci_low <= within$estimate && within$estimate <= crude$ci_high)
  turned <- isTRUE((crude$estimate - equality) * (within$estimate - equality) < 0)
  shown <- isTRUE(crude$pvalue <= error) != isTRUE(within$pvalue <= error)
  if (crude$verdict == within$verdict && !(moved && (turned || shown))) {
    return("")
  }
  number <- function(x) {
    # as Python writes what is infinite
    sub("Inf", "inf", sprintf(digits, x), fixed = TRUE)
  }
  said <- sprintf(
    "%s against %s: crude %s %s (%s), within %s %s (%s%% interval %s to %s; %s).",
    crude$group,
    crude$reference,
    words,
    number(crude$estimate),
    crude$verdict,
    among,
    number(within$estimate),
    sprintf("%g", 100 * within$confidence_level),
    number(within$ci_low),
    number(within$ci_high),
    within$verdict
  )
  if (!isTRUE(within$pvalue_homogeneity < error)) {
    return(said)
  }
  p <- sprintf("%.2g", within$pvalue_homogeneity)
  paste0(said, " Strata differ (p = ", p, "): one ", words, " does not describe all of them.")
}

# The sentence at the head of an audit or a report: for how many of `n` comparisons strata change
# the answer.
strata_sentence <- function(said, n) {
  said <- said[nzchar(said)]
  if (!length(said)) {
    return(character())
  }
  more <- if (length(said) > 1L) {
    paste0(" (and ", length(said) - 1L, " more; the notes list them)")
  } else {
    ""
  }
  paste0("Strata change the answer for ", length(said), " of ", n, " comparisons: ", said[1L], more)
}

# Every disagreement as a note, with the metrics that it is about.
strata_notes <- function(rows) {
  rows <- rows[nzchar(rows$disagreement), ]
  if (!nrow(rows)) {
    return(character())
  }
  where <- paste0(rows$sensitive_features, ": Crude and adjusted disagree. ", rows$disagreement)
  vapply(
    unique(where),
    function(text) {
      paste0(text, " (", paste(rows$metric[where == text], collapse = "; "), ")")
    },
    "",
    USE.NAMES = FALSE
  )
}

# Whether a metric has an adjusted version: ratios, differences and odds ratios of rates, and ratios
# and differences of their means and of functions of the cells.
can_be_adjusted <- function(metric) {
  parts <- lengths(lapply(metric$rates, function(rate) as_metric(rate, 4L)$parts))
  length(parts) > 0L &&
    metric$contrast != "gap" &&
    all(parts == 1L | metric$contrast %in% c("difference", "ratio"))
}

# The stratum of every row, or an error where there is none; `name`: what was given as strata, the
# name of a column or the values.
read_strata <- function(data, strata, input, name) {
  if (is.null(strata)) {
    return(NULL)
  }
  checked_strata(data, strata, input$n, name)
}

# The stratum of each of n rows; `name` as in read_strata().
checked_strata <- function(data, strata, n, name) {
  stratum <- label_text(column_of(data, strata, "strata"))
  if (length(stratum) != n || anyNA(stratum)) {
    stop_argument("strata", "missing values or another length", "the stratum of every row")
  }
  structure(stratum, name = if (length(name) == 1L && is.character(name)) name)
}

# Columns that beside_strata() adds.
ADJUSTED_BESIDE <- c(
  "adjusted",
  "adjusted_ci_low",
  "adjusted_ci_high",
  "adjusted_pvalue",
  "adjusted_verdict",
  "pvalue_homogeneity"
)

# Crude rows with the adjusted ones in columns of their own.
beside_strata <- function(found, within) {
  cbind(
    found,
    adjusted = within$estimate,
    adjusted_ci_low = within$ci_low,
    adjusted_ci_high = within$ci_high,
    adjusted_pvalue = within$pvalue,
    adjusted_verdict = within$verdict,
    pvalue_homogeneity = within$pvalue_homogeneity,
    stringsAsFactors = FALSE
  )
}

# stats::mantelhaen.test of counts as an array group x cell x stratum: the exact one, or without
# continuity correction.
known_mantelhaen <- function(cells, exact, alternative) {
  kept <- apply(cells, 3L, function(t) all(rowSums(t) > 0) && all(colSums(t) > 0))
  cells <- cells[,, kept, drop = FALSE]
  found <- if (exact) {
    stats::mantelhaen.test(cells, exact = TRUE, alternative = alternative)
  } else {
    stats::mantelhaen.test(cells, correct = FALSE)
  }
  list(
    statistic = unname(found$statistic),
    p = found$p.value,
    low = found$conf.int[1L],
    high = found$conf.int[2L]
  )
}
