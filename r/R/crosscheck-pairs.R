# Two models on the same people, and one ratio over strata, for fairstats.crosscheck().

# Change of a metric from model A to B, from label x prediction A x prediction B; cells are named by three digits.
crosscheck_paired <- function(totals, covariance, i, j, cells, success, case, contrast, level, df) {
  digit <- function(k) as.integer(substr(cells, k, k))
  member <- function(model, kinds) {
    y <- digit(1L)
    p <- digit(1L + model)
    name <- ifelse(y == 1, ifelse(p == 1, "tp", "fn"), ifelse(p == 1, "fp", "tn"))
    as.numeric(name %in% kinds)
  }
  rate <- function(g, model) {
    hits <- member(model, success)
    cases <- member(model, case)
    d <- sum(totals[g, ] * cases)
    r <- sum(totals[g, ] * hits) / d
    gradient <- numeric(length(totals))
    gradient[(g - 1) * ncol(totals) + seq_len(ncol(totals))] <- (hits - r * cases) / d
    list(value = r, gradient = gradient)
  }
  ratio <- contrast == "ratio"
  of_model <- function(model) {
    a <- rate(i, model)
    b <- rate(j, model)
    if (ratio) {
      list(value = log(a$value / b$value), gradient = a$gradient / a$value - b$gradient / b$value)
    } else {
      list(value = a$value - b$value, gradient = a$gradient - b$gradient)
    }
  }
  before <- of_model(1L)
  after <- of_model(2L)
  spread <- function(g) sqrt(max(0, drop(g %*% covariance %*% g)))
  shift <- after$value - before$value
  s <- spread(after$gradient - before$gradient)
  q <- stats::qt((1 + level) / 2, df)
  natural <- function(x) if (ratio) exp(x) else x
  toward <- spread(sign(after$value) * after$gradient - sign(before$value) * before$gradient)
  distance <- abs(after$value) - abs(before$value)
  list(
    before = natural(before$value), after = natural(after$value), estimate = natural(shift),
    std_error = s * (if (ratio) exp(shift) else 1), low = natural(shift - q * s), high = natural(shift + q * s),
    statistic = shift / s, pvalue = 2 * stats::pt(-abs(shift / s), df), distance = distance,
    distance_low = distance - q * toward, distance_high = distance + q * toward
  )
}

# cells: strata x (group, reference) x (selected, not).
crosscheck_stratified <- function(cells, level, threshold) {
  pooled <- apply(cells, c(2L, 3L), sum)
  share <- pooled[, 1L] / rowSums(pooled)
  sizes <- apply(cells, c(1L, 2L), sum)
  used <- cells[sizes[, 1L] > 0 & sizes[, 2L] > 0, , , drop = FALSE]
  k0 <- used[, 1L, 1L]
  k1 <- used[, 2L, 1L]
  n0 <- k0 + used[, 1L, 2L]
  n1 <- k1 + used[, 2L, 2L]
  n <- n0 + n1
  up <- sum(k0 * n1 / n)
  down <- sum(k1 * n0 / n)
  ratio <- up / down
  s <- sqrt(sum((n0 * n1 * (k0 + k1) - k0 * k1 * n) / n^2) / (up * down))
  ends <- function(level) ratio * exp(c(-1, 1) * stats::qnorm((1 + level) / 2) * s)
  z <- log(ratio / threshold) / s
  out <- list(
    rate = share[1L], rate_reference = share[2L], crude = share[1L] / share[2L], estimate = ratio,
    std_error = ratio * s, low = ends(level)[1L], high = ends(level)[2L], bound_low = ends(2 * level - 1)[1L],
    bound_high = ends(2 * level - 1)[2L], z = z, p_less = stats::pnorm(z),
    p_greater = stats::pnorm(z, lower.tail = FALSE), z_equal = log(ratio) / s,
    p_equal = 2 * stats::pnorm(-abs(log(ratio) / s))
  )
  table <- aperm(used, c(2L, 3L, 1L))
  # mantelhaen.test wants two strata, and none without variation
  varied <- apply(table, 3L, function(t) all(rowSums(t) > 0) && all(colSums(t) > 0))
  none <- list(statistic = NaN, p.value = NaN)
  cmh <- if (sum(varied) > 1L) {
    stats::mantelhaen.test(table[, , varied, drop = FALSE], correct = FALSE)
  } else {
    d <- sum(k0 - n0 * (k0 + k1) / n)
    v <- sum(n0 * n1 * (k0 + k1) * (n - k0 - k1) / (n^2 * (n - 1)))
    list(statistic = d^2 / v, p.value = stats::pchisq(d^2 / v, 1, lower.tail = FALSE))
  }
  known <- k0 > 0 & k1 > 0 & (k0 < n0 | k1 < n1)
  l <- log((k0 / n0) / (k1 / n1))[known]
  w <- 1 / ((1 - k0 / n0) / k0 + (1 - k1 / n1) / k1)[known]
  q <- sum(w * (l - sum(w * l) / sum(w))^2)
  tarone <- tarone_test(k0, n0, k1, n1)
  c(out, list(
    cmh = unname(cmh$statistic), cmh_p = cmh$p.value, q = q,
    q_p = stats::pchisq(q, max(sum(known) - 1, 1), lower.tail = FALSE), tarone = tarone[1L], tarone_p = tarone[2L]
  ))
}

# Breslow-Day test of one odds ratio in all strata, with Tarone's adjustment; expected counts by uniroot.
tarone_test <- function(k0, n0, k1, n1) {
  n <- n0 + n1
  t <- k0 + k1
  odds <- sum(k0 * (n1 - k1) / n) / sum((n0 - k0) * k1 / n)
  expected <- vapply(seq_along(n), function(h) {
    low <- max(0, t[h] - n1[h])
    high <- min(n0[h], t[h])
    if (low == high) return(low)
    fall <- function(x) log(x) + log(n1[h] - t[h] + x) - log(n0[h] - x) - log(t[h] - x) - log(odds)
    gap <- (high - low) * 1e-13
    stats::uniroot(function(x) max(-1e10, min(1e10, fall(x))), c(low + gap, high - gap), tol = 1e-13)$root
  }, 0)
  v <- 1 / (1 / expected + 1 / (n0 - expected) + 1 / (t - expected) + 1 / (n1 - t + expected))
  x <- sum((k0 - expected)^2 / v) - sum(k0 - expected)^2 / sum(v)
  c(x, stats::pchisq(x, length(n) - 1, lower.tail = FALSE))
}
