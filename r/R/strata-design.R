# Weighted and clustered rows within strata: what they are worth. A sampling unit u (a cluster, or a
# row) adds to the sum of c r over the strata e = sum(c_h w (y - r_h) / W_h) over its rows in all
# strata, and takes a_h = sum(w) / W_h of the cases of each. Effective cases of a stratum are Kish's
# (1965), W^2 / sum(w^2), over one design factor of the group; the degrees of freedom are those of
# Satterthwaite (1946, Biometrics Bulletin 2, 110-114) over strata and units.

# Fewest degrees of freedom of a comparison.
LEAST_DF_IN_STRATA <- 2

# Sums of two groups in H strata: `rows`, `totals`, `squares`, arrays H x 2 x cells; `first`,
# `second`: positions of pairs of cells that share units, the cells of a group of a stratum next to
# each other, then the groups; `products`: of each pair the sum over units of their totals' products.
# Nothing where rows have one weight in each group of a stratum, and are independent.
pair_design <- function(stratum, labels, groups, cell, size, weight, cluster) {
  use <- labels %in% unlist(groups)
  strata <- sort(unique(stratum))
  h <- match(stratum, strata)[use]
  g <- ifelse(labels[use] %in% groups[[1L]], 1L, 2L)
  cell <- cell[use]
  w <- if (is.null(weight)) rep(1, sum(use)) else weight[use]
  place <- ((h - 1L) * 2L + g - 1L) * size + cell
  count <- length(strata) * 2L * size
  sums <- function(x) {
    out <- numeric(count)
    found <- rowsum(x, place)
    out[as.integer(rownames(found))] <- found
    aperm(array(out, c(size, 2L, length(strata))), c(3L, 2L, 1L))
  }
  found <- list(rows = sums(rep(1, length(w))), totals = sums(w), squares = sums(w^2))
  found$clustered <- !is.null(cluster)
  if (found$clustered) {
    unit <- as.character(cluster[use])
    found$units <- length(unique(cluster))
    of_unit <- rowsum(w, paste(place, unit, sep = "\r"))
    keys <- strsplit(rownames(of_unit), "\r", fixed = TRUE)
    places <- as.integer(vapply(keys, `[[`, "", 1L))
    by_unit <- split(seq_along(places), vapply(keys, `[[`, "", 2L))
    pairs <- do.call(
      rbind,
      lapply(by_unit, function(rows) {
        one <- expand.grid(i = rows, j = rows)
        one <- one[places[one$i] <= places[one$j], ]
        cbind(places[one$i], places[one$j], of_unit[one$i] * of_unit[one$j])
      })
    )
    found$first <- pairs[, 1L]
    found$second <- pairs[, 2L]
    found$products <- pairs[, 3L]
    return(found)
  }
  even <- even_groups(
    matrix(apply(found$totals, c(1L, 2L), sum), ncol = 1L),
    matrix(apply(found$rows, c(1L, 2L), sum), ncol = 1L),
    matrix(apply(found$squares, c(1L, 2L), sum), ncol = 1L)
  )
  if (all(even)) {
    return(NULL)
  }
  found$units <- length(stratum)
  found$first <- seq_len(count)
  found$second <- found$first
  found$products <- as.vector(aperm(found$squares, c(3L, 2L, 1L)))
  found
}

# Sums over units of products of a number of each: `left` and `right`, arrays H x 2 x cells, say
# what a unit's total in each cell adds to the number of its group and stratum. Rows and columns are
# the strata of the group, and then of its reference.
unit_products <- function(design, left, right = left) {
  size <- dim(left)
  flat <- function(x) as.vector(aperm(x, c(3L, 2L, 1L)))
  at <- rep(seq_len(size[1L]), each = size[2L] * size[3L])
  of <- rep(rep(seq_len(2L), each = size[3L]), size[1L])
  row <- (of - 1L) * size[1L] + at
  count <- 2L * size[1L]
  add <- function(i, j, keep) {
    value <- (design$products * flat(left)[i] * flat(right)[j])[keep]
    found <- rowsum(value, (row[j][keep] - 1) * count + row[i][keep])
    out <- matrix(0, count, count)
    out[as.numeric(rownames(found))] <- found
    out
  }
  above <- add(design$first, design$second, rep(TRUE, length(design$first)))
  apart <- design$first != design$second
  if (any(apart)) above + add(design$second, design$first, apart) else above
}

# A rate of both groups in all strata; part: columns of successes and cases.
units_of_rate <- function(design, part) {
  total <- function(x, cells) apply(x[,, cells, drop = FALSE], c(1L, 2L), sum)
  w <- total(design$totals, part$case)
  n <- total(design$rows, part$case)
  s <- total(design$squares, part$case)
  r <- ifelse(w > 0, total(design$totals, part$success) / ifelse(w > 0, w, 1), 0)
  even <- n == 0 | matrix(even_groups(cbind(c(w)), cbind(c(n)), cbind(c(s))), nrow(w))
  cells <- dim(design$totals)[3L]
  takes <- array(0, dim(design$totals))
  errs <- takes
  for (x in seq_len(cells)) {
    if (x %in% part$case) {
      takes[,, x] <- ifelse(w > 0, 1 / ifelse(w > 0, w, 1), 0)
      errs[,, x] <- takes[,, x] * ((x %in% part$success) - r)
    }
  }
  list(
    rate = r,
    size = w,
    rows = n,
    worth = ifelse(even, n, ifelse(s > 0, w^2 / ifelse(s > 0, s, 1), 0)),
    even = if (design$clustered) c(FALSE, FALSE) else apply(even, 2L, all),
    errors = unit_products(design, errs),
    shares = unit_products(design, takes),
    residual = errs,
    weight = ifelse(w[, 1L] > 0 & w[, 2L] > 0, w[, 1L] * w[, 2L] / rowSums(w), 0)
  )
}

# The slopes of the sum over strata in both rates, one stratum after the other, at a contrast.
strata_slopes <- function(u, contrast, null) {
  w <- u$weight
  f <- if (is.null(u$f)) 0 else u$f
  switch(
    contrast,
    difference = cbind(w * (1 - f), w * (1 - f)),
    ratio = cbind(w * pmax(1 - null * f, 0), null * w * (1 - f)),
    odds_ratio = cbind(
      w * (1 - u$rate[, 2L] + null * u$rate[, 2L]),
      w * (u$rate[, 1L] + null * (1 - u$rate[, 1L]))
    )
  )
}

# The weighted rates that the group is compared with.
weighted_beside <- function(u) {
  f <- if (is.null(u$f)) 0 else u$f
  f * u$rate[, 1L] + (1 - f) * u$rate[, 2L]
}

# What a rate of both groups is worth: a table of effective counts, and degrees of freedom.
effective_strata <- function(u, contrast, clustered) {
  shared <- u$weight > 0
  table_of <- function(cases) {
    t <- list(
      k1 = (u$rate[, 1L] * cases[, 1L])[shared],
      n1 = cases[shared, 1L],
      k0 = (u$rate[, 2L] * cases[, 2L])[shared],
      n0 = cases[shared, 2L],
      w = u$weight[shared]
    )
    if (!is.null(u$f)) {
      t$f <- u$f[shared]
    }
    t
  }
  null <- if (contrast == "odds_ratio") mh_estimate(table_of(u$worth), contrast) else 1
  if (!is.finite(null) || null <= 0) {
    null <- 1
  }
  slopes <- strata_slopes(u, if (contrast == "ratio") "difference" else contrast, null)[shared, ]
  slopes <- matrix(slopes, ncol = 2L)
  worth <- matrix(u$worth[shared, ], ncol = 2L)
  rate <- matrix(u$rate[shared, ], ncol = 2L)
  count <- nrow(u$rate)
  of_group <- lapply(1:2, function(g) {
    at <- (g - 1L) * count + which(shared)
    c_h <- slopes[, g]
    takes <- u$shares[at, at, drop = FALSE]
    a <- sum(c_h * (takes %*% c_h))
    lost <- sum(outer(c_h, c_h) * takes^2) / a
    pulled <- c_h * (takes %*% c_h)
    rows <- sum(c_h^2 / worth[, g])
    lost_rows <- sum(c_h^2 / worth[, g]^2) / rows
    list(
      df = (1 - lost) * a^2 / sum(pulled * (takes %*% pulled)),
      observed = sum(c_h * (u$errors[at, at, drop = FALSE] %*% c_h)),
      independent = sum(c_h^2 * rate[, g] * (1 - rate[, g]) / worth[, g]),
      clusters = a / rows,
      lost = lost,
      kept_units = (1 - a / sum(c_h)^2) / (1 - lost),
      kept_rows = (1 - rows / sum(c_h)^2) / (1 - lost_rows)
    )
  })
  of <- function(name) vapply(of_group, `[[`, 0, name)
  df <- of("df")
  varies <- of("observed") > 1e-12 * of("independent")
  small <- pmax(1 - 2 / (df + 1), 0.25)
  if (clustered) {
    factor <- of("observed") *
      of("kept_units") /
      (small * of("independent") * of("kept_rows"))
    size <- of("clusters")
    t <- of("observed") / (1 - of("lost")) / (of("independent") * of("kept_rows") * size)
    usable <- varies & is.finite(t) & df > 0
    tau <- c(1, 1)
    if (any(usable)) {
      kept <- ifelse(usable, pmin(t, 1), 0)
      by <- ifelse(usable, df, 0)
      tau <- vapply(1:2, function(g) sum(kept * pmin(size / size[g], 1) * by) / sum(by), 0)
    }
    factor <- ifelse(varies, pmax(factor, size * tau, na.rm = TRUE), size)
  } else {
    factor <- of("observed") / (small * of("independent"))
    factor <- ifelse(varies & !u$even, pmax(factor, 1, na.rm = TRUE), 1)
  }
  cases <- u$worth / rep(factor, each = count)
  cases[!shared, ] <- 0
  list(table = table_of(cases), df = df)
}

# Tables of effective counts of a pair, one for each part of a rate, and what compare_strata() is
# told of their design.
designed_tables <- function(design, parts, contrast, of_all = FALSE) {
  units <- lapply(parts, function(part) {
    u <- units_of_rate(design, part)
    if (of_all) {
      u$f <- u$size[, 1L] / ifelse(rowSums(u$size) > 0, rowSums(u$size), 1)
      u$weight <- ifelse(u$weight > 0, u$size[, 1L], 0)
    }
    u
  })
  found <- lapply(units, effective_strata, contrast, design$clustered)
  tables <- lapply(found, `[[`, "table")
  df <- min(vapply(found, function(x) min(ifelse(is.finite(x$df), x$df, 0)), 0))
  if (any(vapply(tables, function(t) length(t$k1) == 0L, NA))) {
    return(list(tables = tables, design = list(df = 0, scale = function(null) 1)))
  }
  # sums over units of products of errors, of all parts
  joint <- function(slopes, sign) {
    total <- 0
    for (p in seq_along(units)) {
      for (q in seq_along(units)) {
        errors <- if (p == q) {
          units[[p]]$errors
        } else {
          unit_products(design, units[[p]]$residual, units[[q]]$residual)
        }
        left <- as.vector(slopes[[p]] * rep(sign, each = nrow(slopes[[p]])))
        right <- as.vector(slopes[[q]] * rep(sign, each = nrow(slopes[[q]])))
        total <- total + sum(left * (errors %*% right))
      }
    }
    total / length(units)^2
  }
  shares <- lapply(units, function(u) strata_slopes(u, "difference", 1) / sum(u$weight))
  own <- function(slopes, g) {
    mean_of <- vapply(
      seq_along(units),
      function(p) {
        at <- (g - 1L) * nrow(slopes[[p]]) + seq_len(nrow(slopes[[p]]))
        sum(slopes[[p]][, g] * (units[[p]]$errors[at, at, drop = FALSE] %*% slopes[[p]][, g]))
      },
      0
    )
    sum(mean_of) / length(units)^2
  }
  scale_of <- function(v1, v0, covariance, slope) {
    apart <- v1 + v0
    if (!(apart > 0) || !(abs(covariance) > 1e-12 * apart)) {
      return(1)
    }
    if (slope > 1) {
      apart <- v1 / slope^2 + v0
      covariance <- covariance / slope
    } else {
      apart <- v1 + slope^2 * v0
      covariance <- covariance * slope
    }
    together <- apart - 2 * covariance
    if (together <= 1e-12 * apart) 1 else sqrt(apart / together)
  }
  shared_at <- function(slopes) {
    v1 <- own(slopes, 1L)
    v0 <- own(slopes, 2L)
    list(v1 = v1, v0 = v0, covariance = (v1 + v0 - joint(slopes, c(1, -1))) / 2)
  }
  at_null <- contrast == "odds_ratio" || (of_all && contrast == "ratio")
  fixed <- if (design$clustered && !at_null) shared_at(shares)
  scale <- function(null) {
    if (!design$clustered) {
      return(1)
    }
    both <- if (at_null) shared_at(lapply(units, strata_slopes, contrast, null)) else fixed
    slope <- if (contrast == "ratio" && !at_null) null else 1
    scale_of(both$v1, both$v0, both$covariance, slope)
  }
  estimate <- mean(vapply(tables, mh_estimate, 0, contrast))
  error <- NaN
  if (is.finite(estimate) && (contrast == "difference" || estimate > 0)) {
    slopes <- lapply(units, function(u) {
      of_stratum <- switch(
        contrast,
        difference = u$weight,
        ratio = u$weight * weighted_beside(u),
        odds_ratio = u$weight * u$rate[, 2L] * (1 - u$rate[, 1L])
      )
      strata_slopes(u, contrast, estimate) / sum(of_stratum)
    })
    error <- sqrt(max(joint(slopes, c(1, -1)) * design$units / (design$units - 1), 0))
  }
  between <- Reduce(
    `+`,
    lapply(units, function(u) {
      count <- nrow(u$rate)
      shared <- which(u$weight > 0)
      both <- u$shares[shared, shared, drop = FALSE] +
        u$shares[count + shared, count + shared, drop = FALSE]
      sum(both) - sum(diag(both))
    })
  )
  list(
    tables = tables,
    design = list(
      df = df,
      scale = scale,
      std_error = error,
      clustered = design$clustered,
      spread = design$clustered && between > 0,
      fewest = vapply(units, function(u) min(colSums(u$rows[u$weight > 0, , drop = FALSE])), 0),
      n = vapply(
        1:2,
        function(g) sum(vapply(units, function(u) sum(u$rows[u$weight > 0, g]), 0)),
        0
      )
    )
  )
}

# Every number of one comparison within strata of weighted or clustered rows. Flat arrays, the cells
# of a group of a stratum next to each other, then the groups; `successes`, `cases`: cells of one
# rate after the other, `per_rate` of each how many.
crosscheck_designed_strata <- function(
  ...,
  contrast,
  level,
  threshold,
  together = 1,
  of_all = FALSE
) {
  found <- designed_of_arrays(..., contrast = contrast, of_all = of_all)
  compare_strata(found$tables, contrast, level, threshold, together, design = found$design)
}

# Cells of a pair in every stratum, one number after the other, as an array stratum x side x cell.
cells_as_array <- function(x, size) {
  aperm(array(x, c(size, 2L, length(x) / (2L * size))), c(3L, 2L, 1L))
}

# The design of a pair within strata, as pair_design() finds it of rows, of its sums.
design_of_sums <- function(
  rows,
  totals,
  squares,
  first,
  second,
  products,
  units,
  clustered,
  size
) {
  list(
    rows = cells_as_array(rows, size),
    totals = cells_as_array(totals, size),
    squares = cells_as_array(squares, size),
    first = first,
    second = second,
    products = products,
    units = units,
    clustered = clustered
  )
}

designed_of_arrays <- function(
  rows,
  totals,
  squares,
  first,
  second,
  products,
  units,
  clustered,
  size,
  successes,
  cases,
  n_successes,
  n_cases,
  contrast,
  of_all
) {
  design <- design_of_sums(rows, totals, squares, first, second, products, units, clustered, size)
  of_success <- split(successes, rep(seq_along(n_successes), n_successes))
  of_case <- split(cases, rep(seq_along(n_cases), n_cases))
  parts <- Map(function(success, case) list(success = success, case = case), of_success, of_case)
  designed_tables(design, unname(parts), contrast, of_all)
}
