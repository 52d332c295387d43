# Functions of the cells of two groups within strata, and means of rates by the delta method. Of a
# function the cells of each group standardised to common strata, n sum(W t / n) with the cells t and
# rows n of every stratum and W the weights of Mantel and Haenszel; of a mean of rates each over the
# strata with those of its own cases; beside everybody, whose cells hold the group's, with the group's
# rows. Rows of every stratum are multinomial, sampling units may lie in several. What the shares of
# the strata take from a variance is given back, (1 - A) / (1 - lost), as in strata-design.R. All of
# it makes what cell_metric() has of a table of two groups.

# Whether a metric is compared within strata by the delta method.
is_by_delta_in_strata <- function(metric, contrast) {
  !length(metric$parts) || (length(metric$parts) > 1L && contrast == "ratio")
}

# Weights of the strata by the sizes of both (H x 2), adding up to 1.
common_weight <- function(size, of_all) {
  shared <- size[, 1L] > 0 & size[, 2L] > 0
  of_pair <- if (of_all) size[, 1L] else size[, 1L] * size[, 2L] / pmax(rowSums(size), 1e-300)
  weight <- ifelse(shared, of_pair, 0)
  if (any(shared)) weight / sum(weight) else weight
}

# Sums over some cells of an array H x 2 x cells, H x 2.
sums_in_strata <- function(totals, cells) {
  size <- dim(totals)
  matrix(apply(totals[,, cells, drop = FALSE], c(1L, 2L), sum), size[1L], size[2L])
}

# The two values of a pair as a metric of two groups, or NULL where no stratum has rows, or cases of
# every rate, of both. `rows`: counts, H x 2 x cells; `design`: of pair_design(), or NULL.
values_in_strata <- function(rows, metric, contrast, of_all = FALSE, design = NULL) {
  totals <- if (is.null(design)) rows else design$totals
  count <- dim(totals)[1L]
  every <- seq_len(dim(totals)[3L])
  weight <- common_weight(sums_in_strata(totals, every), of_all)
  shared <- weight > 0
  rates <- if (length(metric$parts)) metric$parts else metric$rates
  weights <- lapply(rates, function(part) {
    common_weight(sums_in_strata(totals, part$case), of_all)
  })
  if (!any(shared) || !all(vapply(weights, function(w) any(w > 0), NA))) {
    return(NULL)
  }
  members <- if (of_all) list(1L, 1:2) else list(1L, 2L)
  pooled <- function(x, k) {
    matrix(apply(x[, members[[k]], , drop = FALSE], c(1L, 3L), sum), count)
  }
  # what is made of the units of a rate, and of all rows of a function
  judged <- if (length(metric$parts)) {
    Map(function(part, w) list(case = part$case, weight = w), metric$parts, weights)
  } else {
    list(list(case = every, weight = weight))
  }
  units <- lapply(judged, function(one) {
    lapply(1:2, function(k) {
      takes <- unit_shares(totals, design, members[[k]], one$case, one$weight > 0)
      worth_of_units(one$weight, takes)
    })
  })
  of_units <- function(name, join) {
    vapply(1:2, function(k) join(vapply(units, function(one) one[[k]][[name]], 0)), 0)
  }
  kept <- of_units("kept", max)
  df <- of_units("df", min)
  in_shared <- vapply(
    1:2,
    function(k) sum(pooled(rows, k)[shared, ]),
    0
  )
  about <- function(totals) {
    at <- slopes_in_strata(totals, members, metric, rates, weight, weights)
    list(
      rate = at$rate,
      rows = in_shared,
      covariance = if (is.null(design)) {
        covariance_in_strata(totals, at$slopes) * sqrt(outer(kept, kept))
      } else {
        covariance_of_units(totals, at$slopes, shared, design)
      },
      units = if (is.null(design)) c(Inf, Inf) else df + 1,
      inflation = c(1, 1),
      df = Inf,
      clustered = FALSE,
      even = c(FALSE, FALSE)
    )
  }
  found <- about(totals)
  if (is.null(design)) {
    found$added <- lapply(added_in_strata(metric, every), function(more) {
      about(with_rows_added(totals, weight, of_all, more))
    })
  } else {
    unit_factor <- design$units / (design$units - 1)
    found$inflation <- kept / (pmax(1 - 2 / (df + 1), 0.25) * unit_factor)
    found$df <- design$units - 1
    found$clustered <- design$clustered
  }
  if (length(metric$parts)) {
    found$parts <- lapply(metric$parts, function(part) {
      list(cases = vapply(1:2, function(k) sum(pooled(rows, k)[shared, part$case]), 0))
    })
  }
  if (!is.null(metric$places) && length(every) > 4L && is.null(metric$share)) {
    of_values <- t(vapply(
      1:2,
      function(k) colSums(pooled(rows, k)[shared, , drop = FALSE]),
      0 * every
    ))
    found$fewest <- rarest_class(of_values)
  }
  found$strata <- sum(shared)
  worth <- vapply(
    1:2,
    function(k) 1 / sum(weight[shared]^2 / rowSums(pooled(rows, k))[shared]),
    0
  )
  found$defined <- all(is.finite(found$rate)) && all(is.finite(kept)) && varies_in_strata(found)
  found$usable <- found$defined && (!is.null(design) || all(worth >= DELTA_ROWS - 1e-9))
  found
}

# Rows more in every cell that limits are about, of each a number for every cell.
added_in_strata <- function(metric, cells) {
  share <- if (is.null(metric$share)) {
    rep(min(1, 4 / length(cells)), length(cells))
  } else {
    metric$share
  }
  of_classes <- length(cells) > 4L && is.null(metric$share)
  lapply(c(if (of_classes) 0, 0.5, 1), function(more) more * share)
}

# So many rows more in the standardised cells, at their worth: every stratum in proportion to its
# rows.
with_rows_added <- function(totals, weight, of_all, more) {
  size <- sums_in_strata(totals, seq_along(more))
  by <- cbind(weight, if (of_all) weight * size[, 2L] / pmax(rowSums(size), 1) else weight)
  for (g in 1:2) {
    shared <- weight > 0
    worth <- sum(by[shared, g])^2 / sum(by[shared, g]^2 / size[shared, g])
    totals[, g, ] <- totals[, g, ] + outer(size[, g], more) / worth
  }
  totals
}

# Both values, and their derivatives in the cells of both groups, arrays H x 2 x cells.
slopes_in_strata <- function(totals, members, metric, rates, weight, weights) {
  count <- dim(totals)[1L]
  cells <- seq_len(dim(totals)[3L])
  rate <- numeric(2L)
  slopes <- lapply(1:2, function(k) {
    own <- matrix(apply(totals[, members[[k]], , drop = FALSE], c(1L, 3L), sum), count)
    slope <- matrix(0, count, length(cells))
    if (length(rates)) {
      for (r in seq_along(rates)) {
        case <- cells %in% rates[[r]]$case
        cases <- rowSums(own[, case, drop = FALSE])
        counted <- ifelse(cases > 0, cases, 1)
        value <- rowSums(own[, cells %in% rates[[r]]$success, drop = FALSE]) / counted
        rate[k] <<- rate[k] + sum(weights[[r]] * value) / length(rates)
        residual <- outer(-value, as.numeric(cells %in% rates[[r]]$success), `+`)
        slope <- slope + weights[[r]] / counted * residual * rep(case, each = count) / length(rates)
      }
    } else {
      size <- rowSums(own)
      shared <- weight > 0
      factor <- ifelse(shared, sum(size[shared]) * weight / ifelse(size > 0, size, 1), 0)
      standardised <- matrix(colSums(factor * own), 1L)
      at <- smooth_values(metric$formula, standardised, standardised, NULL, metric$places)
      rate[k] <<- at$rate
      slope <- outer(factor, at$influence[1L, ])
    }
    out <- array(0, dim(totals))
    for (g in members[[k]]) {
      out[, g, ] <- slope
    }
    out
  })
  list(rate = rate, slopes = slopes)
}

# Of multinomial rows in every group of a stratum.
covariance_in_strata <- function(totals, slopes) {
  every <- seq_len(dim(totals)[3L])
  size <- sums_in_strata(totals, every)
  sums <- lapply(slopes, function(slope) sums_in_strata(slope * totals, every))
  of <- function(k, l) {
    sum(slopes[[k]] * slopes[[l]] * totals) - sum(sums[[k]] * sums[[l]] / ifelse(size > 0, size, 1))
  }
  matrix(c(of(1L, 1L), of(1L, 2L), of(1L, 2L), of(2L, 2L)), 2L)
}

# Of sampling units, of which each adds its errors in all strata.
covariance_of_units <- function(totals, slopes, shared, design) {
  every <- seq_len(dim(totals)[3L])
  size <- sums_in_strata(totals, every)
  errors <- lapply(slopes, function(slope) {
    centre <- sums_in_strata(slope * totals, every) / ifelse(size > 0, size, 1)
    (slope - rep(centre, length(every))) * rep(shared, 2L * length(every))
  })
  of <- function(k, l) sum(unit_products(design, errors[[k]], errors[[l]]))
  found <- matrix(c(of(1L, 1L), of(1L, 2L), of(2L, 1L), of(2L, 2L)), 2L)
  found * design$units / (design$units - 1)
}

# Sums over units of products of their shares in the cases of two strata, H x H.
unit_shares <- function(totals, design, members, case, counted) {
  count <- dim(totals)[1L]
  size <- rowSums(sums_in_strata(totals, case)[, members, drop = FALSE])
  per_case <- ifelse(counted & size > 0, 1 / ifelse(size > 0, size, 1), 0)
  if (is.null(design)) {
    return(diag(per_case, count))
  }
  takes <- array(0, dim(totals))
  for (g in members) {
    for (cell in case) {
      takes[, g, cell] <- per_case
    }
  }
  both <- unit_products(design, takes)
  own <- seq_len(count)
  both[own, own] + both[own, count + own] + both[count + own, own] + both[count + own, count + own]
}

# What a variance is multiplied by for what strata take, and Satterthwaite's degrees of freedom.
worth_of_units <- function(weight, takes) {
  a <- sum(weight * (takes %*% weight))
  lost <- sum(outer(weight, weight) * takes^2) / a
  pulled <- weight * (takes %*% weight)
  c(
    kept = if (1 - lost > 1e-9) (1 - a) / (1 - lost) else NaN,
    df = (1 - lost) * a^2 / sum(pulled * (takes %*% pulled))
  )
}

# Whether both values vary, those without weights with a row more in every cell.
varies_in_strata <- function(values) {
  last <- if (length(values$added)) values$added[[length(values$added)]] else values
  v <- diag(last$covariance)
  all(is.finite(v) & v > 1e-24 * pmax(values$rate^2, 1e-24))
}

# Every number of one comparison by the delta method; `together`: comparisons whose intervals hold at
# once. `method`: NA where the rows are not enough.
compare_values_in_strata <- function(
  values,
  contrast,
  level,
  threshold,
  together = 1,
  one_sided = TRUE
) {
  method <- NA_character_
  # of several classes without those that show no ratio before rows are added
  about <- if (length(values$added)) values$added else list(values)
  if (length(about) > 2L) {
    about <- Filter(function(v) isTRUE(pair_estimate(v, 1L, 2L, contrast)$s > 0), about)
  }
  positive <- contrast == "difference" ||
    all(vapply(about, function(v) isTRUE(all(v$rate > 0)), NA))
  no_ratio <- contrast != "difference" && values$defined && isTRUE(all(values$rate == 0))
  if (values$usable && positive && !no_ratio) {
    method <- chosen_method(values, 1L, 2L, contrast, "score", values$clustered)
  }
  joint <- 1 - (1 - level) / together
  critical <- list(
    two_sided = list(value = stats::qt((1 + joint) / 2, values$df), error = 0),
    one_sided = list(value = stats::qt(joint, values$df), error = 0)
  )
  found <- compare_pair(
    values,
    1L,
    2L,
    contrast,
    if (is.na(method)) "none" else method,
    FALSE,
    critical,
    threshold,
    level,
    one_sided = one_sided
  )
  if (no_ratio) {
    found[c("low", "high", "bound_low", "bound_high")] <- list(0, Inf, 0, Inf)
  }
  c(found, list(method = method, q_p = NaN, cmh_p = NaN, exact_p = NaN, tarone_p = NaN))
}

# Rows of a pair in every stratum and cell, of one group and of those that it is compared with.
rows_of_pair <- function(cells, pair) {
  of <- function(places) apply(cells[, places, , drop = FALSE], c(1L, 3L), sum)
  size <- dim(cells)
  aperm(
    array(c(of(pair[[1L]]), of(pair[[2L]])), c(size[1L], size[3L], 2L)),
    c(1L, 3L, 2L)
  )
}

# The values of a pair, as tables_of_pair() has tables.
values_of_pair <- function(cells, metric, pair, rows, input, contrast, of_all) {
  design <- NULL
  if (!is.null(input$weight) || !is.null(input$cluster)) {
    design <- pair_design(
      rows$stratum,
      rows$labels,
      lapply(pair, function(place) rows$groups[place]),
      rows$cell,
      dim(cells)[3L],
      input$weight,
      input$cluster
    )
  }
  values_in_strata(rows_of_pair(cells, pair), metric, contrast, of_all, design)
}

# A row of the tidy table, beside what it is without strata.
delta_row <- function(one, values, metric, group, reference, level, contrast, crude) {
  method <- one$method
  if (is.na(method)) {
    method <- if (contrast == "difference") {
      "delta"
    } else if (isTRUE(is.finite(values$df))) {
      "log"
    } else {
      "fieller"
    }
  }
  n <- if (is.null(values)) c(0, 0) else values$rows
  c(
    tidy_row_within(one, metric, group, reference, n, method, level),
    list(crude = crude$estimate, crude_verdict = crude$verdict),
    n_strata = if (is.null(values)) 0L else values$strata,
    # the delta method's test of it does not hold its size
    pvalue_homogeneity = NaN,
    one[c("p_below", "p_above", "p_inside", "cmh_p", "exact_p", "tarone_p")]
  )
}

# Every number where no stratum has rows of both.
no_values_in_strata <- function() {
  names <- c(
    "estimate",
    "std_error",
    "rate",
    "rate_reference",
    "low",
    "high",
    "bound_low",
    "bound_high",
    "z_equal",
    "p_equal",
    "p_below",
    "p_above",
    "p_inside",
    "q_p",
    "cmh_p",
    "exact_p",
    "tarone_p"
  )
  out <- as.list(stats::setNames(rep(NaN, length(names)), names))
  out$method <- NA_character_
  out
}

# Every number of one comparison within strata by the delta method. `rows`: of the cells of a group
# of a stratum next to each other, then the groups; `metric`: its name in R; of weighted or clustered
# rows `totals` to `clustered` as in crosscheck_designed_strata().
crosscheck_strata_values <- function(
  rows,
  size,
  metric,
  contrast,
  level,
  threshold,
  together = 1,
  of_all = FALSE,
  totals = NULL,
  squares = NULL,
  first = NULL,
  second = NULL,
  products = NULL,
  units = 0,
  clustered = FALSE
) {
  design <- if (!is.null(totals)) {
    design_of_sums(rows, totals, squares, first, second, products, units, clustered, size)
  }
  values <- values_in_strata(
    cells_as_array(rows, size),
    as_metric(metric, size),
    contrast,
    of_all,
    design
  )
  found <- if (is.null(values)) {
    no_values_in_strata()
  } else {
    compare_values_in_strata(values, contrast, level, threshold, together)
  }
  found$method <- NULL
  found
}
