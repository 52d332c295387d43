# Means within the strata of a confounder. With the weights w = w1 w0 / (w1 + w0) of Mantel and
# Haenszel (1959, Journal of the National Cancer Institute 22, 719-748), w1 and w0 the rows of both
# groups or their weights, the mean of a group is sum(w m) / sum(w), and two such means are compared
# as any others are (means.R). The degrees of freedom are those of Satterthwaite (1946, Biometrics
# Bulletin 2, 110-114) over the strata, and the skewness of a row is one in all strata. Whether one
# contrast holds in all of them: the least sum of z^2 over its values (Cochran 1954, Biometrics 10,
# 101-129).

# Below so many rows (or clusters) of a group beyond the first of every stratum nothing is compared;
# fewest of a stratum that is used, that shows a skewness, and that has a say on homogeneity.
FEWEST_BEYOND <- 19
FEWEST_OF_STRATUM <- 2
FEWEST_OF_SHAPE <- 3
FEWEST_OF_HOMOGENEITY <- 5

# The law of sum(share * mean) over strata. `shared`: where clusters lie in several strata, sums over
# them of products of their shares in the weights of two strata, and of their errors.
adjusted_law <- function(laws, shares, shared = NULL) {
  pick <- function(name) vapply(laws, `[[`, 0, name)
  size <- pick("size")
  deviation <- sqrt(pick("v") * size)
  known <- size >= FEWEST_OF_SHAPE - 1e-9
  spread <- sum((size * deviation^3)[known])
  shape <- if (spread > 0) sum((size^3 * pick("k"))[known]) / spread else 0
  terms <- shares^2 * pick("v")
  df <- if (sum(terms) > 0) sum(terms)^2 / sum(terms^2 / (size - 1)) else sum(size - 1)
  k <- shape * sum(shares^3 * deviation^3 / size^2)
  v <- sum(terms)
  if (!is.null(shared) && v > 0) {
    v <- max(sum(outer(shares, shares) * shared$errors), 0)
    k <- k * (v / sum(terms))^2
    df <- df_of_shared(shares * deviation, shared$weights)
  }
  list(mean = sum(shares * pick("mean")), v = v, k = k, size = df + 1)
}

# Degrees of freedom of a sum over strata that share clusters, less what their estimates take.
df_of_shared <- function(slope, weights) {
  pull <- drop(weights %*% slope) * slope
  lost <- sum(outer(slope, slope) * weights^2) / sum(pull)
  (1 - lost) * sum(pull)^2 / sum(outer(pull, pull) * weights)
}

# Sums over clusters of the products of what their rows have in two strata: of every stratum the
# clusters `unit` and values `x`, and `y` of the second.
products_of_strata <- function(unit, x, y = x) {
  levels <- unique(unlist(unit))
  table_of <- function(values) {
    columns <- Map(
      function(u, v) {
        sums <- numeric(length(levels))
        at <- match(u, levels)
        for (k in seq_along(at)) {
          sums[at[k]] <- sums[at[k]] + v[k]
        }
        sums
      },
      unit,
      values
    )
    matrix(unlist(columns), length(levels))
  }
  crossprod(table_of(x), table_of(y))
}

# Correlations of the values of strata, by what clusters move these: of every stratum a list of `unit`
# and `x`.
correlations_of <- function(moves) {
  pick <- function(name) lapply(moves, function(m) if (is.null(m)) numeric(0) else m[[name]])
  products <- products_of_strata(pick("unit"), pick("x"))
  deviation <- sqrt(diag(products))
  found <- products / outer(deviation, deviation)
  found[!is.finite(found)] <- 0
  diag(found) <- 1
  found
}

# The root of the sum of squares of distances in all strata, or of their products where values of these
# have correlations.
root_of_distances <- function(distance, correlations = NULL) {
  if (is.null(correlations) || !all(is.finite(distance))) {
    return(sqrt(sum(distance^2)))
  }
  sqrt(max(sum(outer(distance, distance) * correlations), 0))
}

# What the crossings `k` of one group share, from sums of products of cluster weights and of excesses;
# NULL where clusters lie in one stratum each.
shared_by_strata <- function(m, k) {
  if (is.null(m$shared)) {
    return(NULL)
  }
  weights <- m$shared$weights[k, k, drop = FALSE]
  errors <- m$shared$errors[k, k, drop = FALSE]
  if (all(weights[upper.tri(weights)] == 0)) {
    return(NULL)
  }
  diag(weights) <- m$weights[2L, k]
  diag(errors) <- m$centred[1L, k]
  total <- m$weights[1L, k]
  factor <- sqrt(m$units[k] / (m$units[k] - 1))
  list(
    weights = weights / outer(total, total),
    errors = errors / outer(total, total) * outer(factor, factor)
  )
}

# Moments of a group and then of its reference, both in all strata: which strata are used, and what
# compare_numbers() reads.
adjusted_values <- function(m, root, of_all = FALSE) {
  count <- length(m$mean) / 2
  at <- list(seq_len(count), count + seq_len(count))
  laws <- lapply(at, function(cells) lapply(cells, function(g) law_of_mean(m, g)))
  sizes <- lapply(laws, function(of_group) vapply(of_group, `[[`, 0, "size"))
  used <- which(pmin(sizes[[1L]], sizes[[2L]]) >= FEWEST_OF_STRATUM - 1e-9)
  weight <- lapply(at, function(cells) m$weights[1L, cells][used])
  share <- weight[[1L]] * weight[[2L]] / (weight[[1L]] + weight[[2L]])
  share <- share / sum(share)
  nothing <- list(mean = NaN, v = NaN, k = NaN, size = NaN)
  shared <- lapply(at, function(cells) shared_by_strata(m, cells[used]))
  joined <- lapply(1:2, function(k) {
    if (length(used)) adjusted_law(laws[[k]][used], share, shared[[k]]) else nothing
  })
  refused <- function(k, ratio) {
    size <- sizes[[k]][used]
    beyond <- sum(size - 1)
    if (!is.null(shared[[k]])) {
      own <- weight[[k]] / sum(weight[[k]])
      beyond <- min(beyond, 1 / sum(outer(own, own) * shared[[k]]$weights) - 1)
    }
    few <- beyond < FEWEST_BEYOND - 1e-9 || max(size) < FEWEST_OF_SHAPE - 1e-9
    few || (ratio && (sum(m$negative[at[[k]]][used]) > 0 || !joined[[k]]$mean > 0))
  }
  compared <- function(ratio) two_means(joined[[1L]], joined[[2L]], ratio, root)
  n <- vapply(at, function(cells) sum(m$n[cells][used]), 0)
  if (of_all && length(used)) {
    law <- function(k, slopes) adjusted_law(laws[[k]][used], slopes, shared[[k]])
    beside <- beside_everybody(law, weight, root)
    joined[[1L]] <- beside$laws[[1L]]
    compared <- beside$contrast
  }
  shown <- if (of_all && length(used)) beside$laws else joined
  if (of_all) {
    n[2L] <- sum(n)
  }
  value <- vapply(shown, function(law) if (root) sqrt(law$mean) else law$mean, 0)
  own <- function(k, critical) t_limits(shown[[k]], critical, root)
  against <- function(g, reference, ratio) {
    fine <- length(used) > 0L && !refused(1L, ratio) && !refused(2L, ratio)
    list(
      value = value[2L],
      n = n[2L],
      own = function(critical) own(2L, critical),
      contrast = if (fine) compared(ratio)
    )
  }
  list(
    value = value,
    n = n,
    variance = vapply(shown, `[[`, 0, "v"),
    share = NULL,
    against = against,
    own = own,
    method = "Welch, Hall's transformation",
    spread = !all(vapply(shared, is.null, NA)),
    laws = lapply(laws, function(of_group) of_group[used])
  )
}

# A group and everybody within strata: with f the share of the group in the weight of a stratum, the
# mean of all there is f m1 + (1 - f) m0, and both are summed by the weights of the group. `law`: of
# sums of the means of the group (1) and of all others (2); `weight`: of both.
beside_everybody <- function(law, weight, root) {
  own <- weight[[1L]] / sum(weight[[1L]])
  share <- weight[[1L]] / (weight[[1L]] + weight[[2L]])
  parts <- list(law(1L, own * share), law(2L, own * (1 - share)))
  v <- vapply(parts, `[[`, 0, "v")
  sizes <- vapply(parts, `[[`, 0, "size")
  everybody <- list(
    mean = parts[[1L]]$mean + parts[[2L]]$mean,
    v = sum(v),
    k = parts[[1L]]$k + parts[[2L]]$k,
    size = 1 + if (sum(v) > 0) sum(v)^2 / sum(v^2 / (sizes - 1)) else sum(sizes - 1)
  )
  observed <- law(1L, own)
  contrast <- function(ratio) {
    if (!ratio && !root) {
      return(mean_difference(law(1L, own * (1 - share)), law(2L, own * (1 - share))))
    }
    if (!ratio) {
      roots <- sqrt(c(observed$mean, everybody$mean))
      variances <- c(0, 0)
      # a root of 0 has no slope: all its errors are 0
      if (all(roots > 0)) {
        variances <- c(
          law(1L, own / (2 * roots[1L]) - own * share / (2 * roots[2L]))$v,
          parts[[2L]]$v / (4 * everybody$mean)
        )
      }
      # the covariance of both mean squares, which share the rows of the group, over the variance
      both <- law(1L, own * (1 + share))$v - law(1L, own * (1 - share))$v
      slope <- if (observed$v > 0) both / (4 * observed$v) else 0
      return(roots_by_parts(
        observed,
        parts[[2L]],
        everybody,
        slope,
        variances
      ))
    }
    one <- observed$mean
    all <- everybody$mean
    variance <- law(1L, own * (all - one * share) / all^2)$v +
      law(2L, own * (1 - share) * one / all^2)$v
    back <- if (root) sqrt else identity
    z <- function(value) {
      theta <- if (root) value^2 else value
      welch_hall(law(1L, own * (1 - theta * share)), law(2L, own * (1 - share)), ratio = theta)
    }
    estimate <- back(one / all)
    list(
      estimate = estimate,
      std_error = if (root) sqrt(variance) / (2 * estimate) else sqrt(variance),
      z = z,
      limits = limits_of_ratio(estimate, z, back(1 / min(share)))
    )
  }
  list(laws = list(observed, everybody), contrast = contrast)
}

# Strata that have a say, the least Q and its p-value, of laws of both groups by stratum.
mean_homogeneity <- function(laws, ratio) {
  pick <- function(k, name) vapply(laws[[k]], `[[`, 0, name)
  kept <- pmin(pick(1L, "size"), pick(2L, "size")) >= FEWEST_OF_HOMOGENEITY - 1e-9 &
    pick(1L, "v") + pick(2L, "v") > 0
  if (ratio) {
    kept <- kept & pick(1L, "mean") > 0 & pick(2L, "mean") > 0
  }
  if (sum(kept) < 2L) {
    return(c(sum(kept), NaN, NaN))
  }
  pairs <- Map(list, laws[[1L]][kept], laws[[2L]][kept])
  total <- function(value) {
    sum(vapply(
      pairs,
      function(pair) {
        z <- if (ratio) {
          welch_hall(pair[[1L]], pair[[2L]], ratio = value)
        } else {
          welch_hall(pair[[1L]], pair[[2L]], difference = value)
        }
        if (z[["plain"]] > 0) max(z[["above"]], 0)^2 else min(z[["below"]], 0)^2
      },
      0
    ))
  }
  one <- pick(1L, "mean")[kept]
  zero <- pick(2L, "mean")[kept]
  ends <- range(if (ratio) one / zero else one - zero)
  points <- seq(ends[1L], ends[2L], length.out = 65L)
  best <- which.min(vapply(points, total, 0))
  near <- points[c(max(best - 1L, 1L), min(best + 1L, 65L))]
  least <- total(points[best])
  if (near[1L] < near[2L]) {
    least <- min(least, stats::optimize(total, near, tol = 1e-10 * diff(near))$objective)
  }
  c(sum(kept), least, stats::pchisq(least, sum(kept) - 1, lower.tail = FALSE))
}

# Every number of one comparison within strata; `together`: comparisons whose intervals hold at once.
compare_adjusted_means <- function(m, root, contrast, limit, level, together, of_all = FALSE) {
  values <- adjusted_values(m, root, of_all)
  ratio <- contrast == "ratio"
  found <- mean_homogeneity(values$laws, ratio)
  # of roots it is the mean squares whose difference would be tested
  if ((root && !ratio) || values$spread || of_all) {
    found[2:3] <- NaN
  }
  compare_adjusted(values, contrast, limit, level, together, c(length(values$laws[[1L]]), found))
}

# One comparison of adjusted values of a group (1) and its reference (2), with so many whose intervals
# hold at once; `strata`: how many are used and informative, and the test that one contrast holds.
compare_adjusted <- function(values, contrast, limit, level, together, strata) {
  row <- compare_numbers(
    values,
    cbind(1L, 2L),
    contrast,
    limit,
    level,
    if (together > 1) "bonferroni" else "none",
    matrix(0L, max(together, 1), 2L)
  )[[1L]]
  row[c("n_strata", "n_informative", "q", "q_p")] <- strata
  row$n <- values$n[1L]
  row
}

# Every number of a comparison of a report, from the moments of the group and then of its reference
# in all strata.
crosscheck_adjusted_means <- function(
  mean,
  n,
  units,
  weights,
  centred,
  negative,
  contrast,
  level,
  limit,
  together,
  root,
  shared_weights = NULL,
  shared_errors = NULL,
  of_all = FALSE
) {
  m <- list(
    mean = mean,
    n = n,
    units = units,
    weights = weights,
    centred = centred,
    negative = negative
  )
  if (!is.null(shared_weights)) {
    size <- length(mean)
    m$shared <- list(
      weights = matrix(shared_weights, size),
      errors = matrix(shared_errors, size)
    )
  }
  row <- compare_adjusted_means(m, root, contrast, limit, level, together, of_all)
  as_columns(list(row[names(row) != "method"]))
}

# Moments of the crossings of strata and groups, and what these share where clusters lie in several
# strata: a cluster's rows in every crossing are a unit there.
moments_in_strata <- function(x, cell, count, design) {
  cluster <- design$cluster
  if (is.null(cluster)) {
    return(number_moments(x, cell, count, design$weight))
  }
  unit <- as.integer(factor(cluster))
  m <- number_moments(x, cell, count, design$weight, paste(unit, cell))
  if (!lies_in_several(cell, unit)) {
    return(m)
  }
  w <- if (is.null(design$weight)) rep(1, length(x)) else design$weight
  crossed <- function(v) unclass(stats::xtabs(v ~ unit + factor(cell, seq_len(count))))
  m$shared <- list(
    weights = crossprod(crossed(w)),
    errors = crossprod(crossed(w * (x - m$mean[cell])))
  )
  m
}

# Whether some clusters have rows in several of these.
lies_in_several <- function(place, cluster) {
  any(tapply(place, cluster, function(k) length(unique(k))) > 1L)
}

# What compares two groups, whose cells (stratum after stratum) are given, by means of numbers x.
means_in_strata <- function(x) {
  function(cell, count, design, about, together) {
    m <- moments_in_strata(x, cell, count, design)
    function(pair) {
      of_pair <- list(
        shared = if (!is.null(m$shared)) lapply(m$shared, function(s) s[pair, pair]),
        mean = m$mean[pair],
        n = m$n[pair],
        units = m$units[pair],
        weights = m$weights[, pair],
        centred = m$centred[, pair],
        negative = m$negative[pair]
      )
      level <- about$options$confidence_level
      compare_adjusted_means(
        of_pair,
        about$root,
        about$contrast,
        about$limit,
        level,
        together,
        identical(about$comparisons, "overall")
      )
    }
  }
}

# The same by areas under ROC curves, also of rows with weights or in clusters; `place`: the group of
# every row.
areas_in_strata <- function(y, score, place) {
  function(cell, count, design, about, together) {
    designed <- !is.null(design$weight) || !is.null(design$cluster)
    rows <- unname(rows_of_groups(y, score, cell, count, design$weight, design$cluster))
    areas <- lapply(rows, area_of)
    known <- columns_of_areas(areas, designed)
    known$n <- vapply(rows, nrow, 0L)
    known$weight <- vapply(rows, function(r) sum(weights_of(r)[r$y == 1]), 0)
    of_all <- identical(about$comparisons, "overall")
    spread <- !is.null(design$cluster) && lies_in_several(cell, design$cluster)
    function(pair) {
      of_pair <- lapply(known, function(x) {
        if (is.matrix(x)) x[, pair] else x[pair]
      })
      if (spread) {
        half <- length(pair) / 2
        of_pair$between <- lapply(
          list(pair[seq_len(half)], pair[half + seq_len(half)]),
          function(k) {
            areas_between(rows[k], known$variance[k])
          }
        )
      }
      if (of_all) {
        stratum <- (cell - 1L) %/% 2L + 1L
        g <- place[cell %% 2L == 1L][1L]
        of_pair$all <- areas_of_all(y, score, place, stratum, count / 2, design, g, spread)
      }
      level <- about$options$confidence_level
      compare_adjusted_areas(of_pair, about$contrast, about$limit, level, together)
    }
  }
}

# What rows add to the error of the area of their stratum, times sqrt(n / (n - 1)) of its clusters (of
# the clusters of every group where these are strata of their own).
scaled_errors <- function(r, stratum = rep(1, nrow(r))) {
  if (!is.finite(area_of(r)$value)) {
    return(numeric(nrow(r)))
  }
  n <- stats::ave(match(r$unit, unique(r$unit)), stratum, FUN = function(u) length(unique(u)))
  errors_of_area(r, weighted_placements(r), stratum) * ifelse(n > 1, sqrt(n / (n - 1)), 1)
}

shares_of_label <- function(r, label) {
  w <- weights_of(r) * (r$y == label)
  if (sum(w) > 0) w / sum(w) else w
}

# Covariances of the areas of strata whose rows are of the same clusters, and sums of the products of
# the clusters' shares in the weight of label 1 and of label 0.
areas_between <- function(rows, variance) {
  unit <- lapply(rows, `[[`, "unit")
  covariance <- products_of_strata(unit, lapply(rows, scaled_errors))
  diag(covariance) <- ifelse(is.finite(variance), variance, 0)
  labels <- lapply(1:0, function(label) {
    products_of_strata(unit, lapply(rows, shares_of_label, label))
  })
  list(covariance = covariance, labels = labels)
}

# Whether strata have anything in common.
share_units <- function(products) {
  any(vapply(products, function(x) any(x[upper.tri(x)] != 0), NA))
}

# Areas as columns; degrees of freedom where rows have weights or clusters.
columns_of_areas <- function(areas, designed) {
  counted <- vapply(areas, `[[`, c(0, 0), "counted")
  sizes <- if (designed) vapply(areas, `[[`, c(0, 0), "sizes") else counted
  df_of <- function(a) if (is.null(a$df)) max(min(a$sizes) - 1, 1) else a$df
  list(
    area = vapply(areas, `[[`, 0, "value"),
    variance = vapply(areas, `[[`, 0, "variance"),
    positives = sizes[1L, ],
    negatives = sizes[2L, ],
    counted = counted,
    df = if (designed) vapply(areas, df_of, 0)
  )
}

# All rows of each of `count` strata: their areas as one group (`as_one`) and as group `g` is compared
# with it, with what both share.
areas_of_all <- function(y, score, place, stratum, count, design, g, spread = FALSE) {
  designed <- !is.null(design$weight) || !is.null(design$cluster)
  found <- lapply(seq_len(count), function(h) {
    here <- stratum == h
    unit <- if (!is.null(design$cluster)) design$cluster[here]
    weight <- design$weight[here]
    rows <- rows_of_groups(y[here], score[here], place[here], max(place), weight, unit)
    small <- vapply(unname(rows), function(r) min(area_of(r)$counted), 0) < FEWEST_OF_LABEL
    r <- attr(rows, "all")
    none <- list(of_all = area_of(r[0L, ]), parts = rep(NaN, 3L))
    of_group <- area_of(rows[[g]])
    c(
      list(as_one = area_of(r), rows = r, small = small),
      if (is.finite(of_group$value)) shared_with_all(r, g, small) else none
    )
  })
  all <- list(
    as_one = columns_of_areas(lapply(found, `[[`, "as_one"), designed),
    of_all = columns_of_areas(lapply(found, `[[`, "of_all"), designed),
    shared = vapply(found, `[[`, c(0, 0, 0), "parts")
  )
  if (spread) {
    rows <- lapply(found, `[[`, "rows")
    unit <- lapply(rows, `[[`, "unit")
    all$between <- areas_between(rows, all$as_one$variance)
    inside <- lapply(rows, function(r) r$place == g)
    of_all <- Map(
      function(r, one) scaled_errors(r, ifelse(one$small[r$place] & r$place != g, 0, r$place)),
      rows,
      found
    )
    own <- Map(
      function(r, i) {
        e <- numeric(nrow(r))
        e[i] <- scaled_errors(r[i, ])
        e
      },
      rows,
      inside
    )
    from_group <- Map(`*`, of_all, inside)
    from_others <- Map(`-`, of_all, from_group)
    products <- list(
      products_of_strata(unit, from_group),
      products_of_strata(unit, from_others),
      products_of_strata(unit, own, from_group)
    )
    all$shared_between <- lapply(1:3, function(k) {
      diag(products[[k]]) <- ifelse(is.finite(all$shared[k, ]), all$shared[k, ], 0)
      products[[k]]
    })
  }
  all
}

# Rows of comparisons within strata beside the `crude` ones of the same pairs, as one family of
# their own. `compare`: of means_in_strata() or areas_in_strata(); `place`, `design`: group of every
# row, with its weight and cluster; `about$among`: comparisons that the data chose from, 0 for none.
adjusted_rows <- function(compare, place, stratum, design, groups, crude, about) {
  levels <- sort(unique(stratum))
  count <- length(groups)
  cell <- (match(stratum, levels) - 1L) * count + place
  options <- about$options
  together <- if (options$simultaneous == "none") 1 else nrow(crude)
  if (about$among > 0) {
    together <- about$among
  }
  # at several cut-offs all of them are one family
  if (!is.null(about$family)) {
    together <- about$family
  }
  pooled <- isTRUE(about$comparisons %in% POOLED)
  if (!pooled) {
    compare_pair <- compare(cell, length(levels) * count, design, about, together)
  }
  cells_of <- function(place, count) (seq_along(levels) - 1L) * count + place
  found <- bind_rows(lapply(seq_len(nrow(crude)), function(k) {
    if (pooled) {
      # the group, and all others of every stratum as one
      side <- ifelse(place == match(crude$group[k], groups), 1L, 2L)
      beside <- (match(stratum, levels) - 1L) * 2L + side
      compare_rest <- compare(beside, length(levels) * 2L, design, about, together)
      row <- compare_rest(c(cells_of(1L, 2L), cells_of(2L, 2L)))
    } else {
      pair <- match(c(crude$group[k], crude$reference[k]), groups)
      row <- compare_pair(c(cells_of(pair[1L], count), cells_of(pair[2L], count)))
    }
    c(
      tidy_numbers(
        paste0(crude$metric[k], "_stratified"),
        crude$group[k],
        crude$reference[k],
        row,
        row$n,
        options
      ),
      crude = crude$estimate[k],
      crude_verdict = crude$verdict[k],
      n_strata = row$n_strata,
      pvalue_homogeneity = row$q_p
    )
  }))
  if (!is.null(about$family)) {
    return(found)
  }
  found$pvalue_adjusted <- if (about$among > 0) {
    pmin(about$among * found$pvalue, 1)
  } else {
    adjust_pvalues(found$pvalue, options$adjust)
  }
  one_value <- about$contrast == "ratio" && about$limit == 1
  found <- settle_rows(found, options, about$among, one_value)
  digits <- if (about$contrast == "ratio") "%.3f" else "%+.4g"
  with_disagreements(found, crude, stratum, about$contrast, digits)
}

# Where the rows within strata say another thing than the `crude` ones of the same pairs.
with_disagreements <- function(found, crude, stratum, contrast, digits = NULL) {
  among <- paste(length(unique(stratum)), "strata")
  if (!is.null(attr(stratum, "name"))) {
    among <- paste(among, "of", attr(stratum, "name"))
  }
  found$disagreement <- vapply(
    seq_len(nrow(found)),
    function(k) {
      if (is.null(digits)) {
        disagreement_of(crude[k, ], found[k, ], contrast, among)
      } else {
        disagreement_of(crude[k, ], found[k, ], contrast, among, digits)
      }
    },
    ""
  )
  along <- found$disagreement != "" & !is.null(found$cutoff)
  found$disagreement[along] <- sprintf(
    "At %.4g, %s",
    found$cutoff[along],
    found$disagreement[along]
  )
  found
}

# The table of crude comparisons with those within strata in columns of their own, in full as an
# attribute, and a sentence where both disagree.
with_adjusted_means <- function(crude, within, as_table) {
  if (is.null(within)) {
    return(as_table(crude))
  }
  found <- as_table(beside_strata(crude, within))
  attr(found, "stratified") <- within
  with_head(found, c(strata_sentence(within$disagreement, nrow(within)), attr(found, "head")))
}

# The stratum of every row of numbers; NULL without strata. `without`: what is asked that has no
# comparison within strata.
stratum_of_numbers <- function(data, strata, n, name, without = NULL) {
  if (is.null(strata)) {
    return(NULL)
  }
  if (!is.null(without)) {
    stop_argument(
      "strata",
      paste("strata with", without),
      "strata with numbers, errors, losses, AUC, rates, calibration in the large, slope, intercept"
    )
  }
  checked_strata(data, strata, n, name)
}

# ---------------------------------------------------------------- areas under ROC curves

# Fewest rows of a label of a stratum that is used, and of a group beyond the first of every stratum.
FEWEST_OF_AREA <- 3
FEWEST_BEYOND_OF_LABEL <- 9

# Areas of a group and then of its reference, both in all strata, adjusted with the weights of their
# positives. Limits are the wider of two, as those of a single area: of the logit with Satterthwaite's
# degrees of freedom, and those that Hanley and McNeil's variance, as if all strata had one area,
# does not reject. Of rows with weights or in clusters (`df`) positives and negatives are effective
# ones, and both limits have Student's t.
adjusted_area_values <- function(a) {
  count <- length(a$area) / 2
  at <- list(seq_len(count), count + seq_len(count))
  fewest <- apply(a$counted, 2L, min)
  known <- is.finite(a$area)
  fine <- fewest >= FEWEST_OF_AREA & known
  used <- which(fine[at[[1L]]] & fine[at[[2L]]])
  cells <- lapply(at, function(of_group) of_group[used])
  weight <- lapply(cells, function(k) a$weight[k])
  of_all <- !is.null(a$all)
  share <- weight[[1L]] * if (of_all) 1 else weight[[2L]] / (weight[[1L]] + weight[[2L]])
  share <- share / sum(share)
  of_cells <- function(areas, k) {
    areas$df <- df_of_areas(areas)
    lapply(areas[c("area", "variance", "positives", "negatives", "df")], `[`, k)
  }
  areas <- lapply(cells, function(k) of_cells(a, k))
  if (of_all) {
    areas[[2L]] <- of_cells(a$all$as_one, used)
  }
  # what strata share whose rows are of the same clusters
  of_used <- function(x) x[used, used, drop = FALSE]
  with_used <- function(b) {
    list(covariance = of_used(b$covariance), labels = lapply(b$labels, of_used))
  }
  between <- lapply(a$between, function(b) if (share_units(b$labels)) with_used(b))
  total_of <- function(x) if (is.matrix(x)) sum(outer(share, share) * x) else sum(share^2 * x)
  value <- vapply(areas, function(one) if (length(used)) sum(share * one$area) else NaN, 0)
  limits <- function(one, critical, between = NULL) {
    if (!length(used)) {
      return(c(NaN, NaN))
    }
    terms <- share^2 * one$variance
    variance <- sum(terms)
    df <- variance^2 / sum(terms^2 / one$df)
    if (!variance > 0) {
      df <- sum(one$df)
    }
    factor <- 1
    if (!is.null(between) && variance > 0) {
      total <- max(total_of(between$covariance), 0)
      factor <- max(total / variance, 1)
      variance <- total
      df <- max(
        min(vapply(
          between$labels,
          function(w) {
            df_of_shared(share * sqrt(diag(between$covariance) / diag(w)), w)
          },
          0
        )),
        1
      )
    }
    by_logit <- -stats::qt(stats::pnorm(-critical), df)
    wider_limits_of_area(
      sum(share * one$area),
      variance,
      by_logit,
      if (is.null(a$df)) critical else by_logit,
      one$positives,
      one$negatives,
      share * sqrt(factor)
    )
  }
  shown <- between
  if (of_all && length(between)) {
    shown[2L] <- list(if (share_units(a$all$between$labels)) with_used(a$all$between))
  }
  own <- function(group, critical) {
    limits(areas[[group]], critical, if (length(shown)) shown[[group]])
  }
  small <- vapply(
    cells,
    function(k) {
      beyond <- min(rowSums(a$counted[, k, drop = FALSE] - 1))
      !length(k) || beyond < FEWEST_BEYOND_OF_LABEL - 1e-9
    },
    NA
  )
  if (length(between) && length(used)) {
    # a cluster in several strata counts once
    units <- function(b) {
      if (is.null(b)) Inf else min(vapply(b$labels, function(w) 1 / total_of(w), 0)) - 1
    }
    small <- small | vapply(between, units, 0) < FEWEST_BEYOND_OF_LABEL - 1e-9
  }
  values <- mover_values(
    value,
    vapply(cells, function(k) sum(share^2 * a$variance[k]), 0),
    vapply(cells, function(k) sum(a$n[k]), 0),
    small,
    own,
    "logit DeLong and Newcombe (MOVER)"
  )
  if (of_all) {
    values$n[2L] <- sum(values$n)
    of_both <- list(areas[[1L]], of_cells(a$all$of_all, used))
    values$against <- function(g, reference, ratio) {
      parts <- c(
        lapply(of_both, `[[`, "variance"),
        lapply(1:3, function(k) a$all$shared[k, used])
      )
      joined <- between
      if (length(between)) {
        of_parts <- lapply(a$all$shared_between, of_used)
        joined[2L] <- shown[2L]
        if (!is.null(joined[[2L]])) {
          joined[[2L]]$covariance <- of_parts[[1L]] + of_parts[[2L]]
        }
        own <- lapply(1:2, function(k) {
          if (is.null(joined[[k]])) of_both[[k]]$variance else joined[[k]]$covariance
        })
        parts <- c(own, of_parts)
      }
      contrast <- if (!small[1L]) {
        contrast_of_areas(
          value,
          function(k, critical) {
            limits(of_both[[k]], critical, if (length(joined)) joined[[k]])
          },
          vapply(parts, total_of, 0),
          ratio
        )
      }
      list(
        value = value[2L],
        n = values$n[2L],
        own = function(critical) own(2L, critical),
        contrast = contrast
      )
    }
  }
  c(values, list(cells = cells, spread = !all(vapply(between, is.null, NA))))
}

# Degrees of freedom of the variances: of the rarer label, or those of the design.
df_of_areas <- function(a) if (is.null(a$df)) pmin(a$positives, a$negatives) - 1 else a$df

# As mean_homogeneity(), by DeLong's variances and Welch's degrees of freedom.
area_homogeneity <- function(a, cells) {
  area <- a$area
  variance <- a$variance
  fewest <- pmin(a$positives, a$negatives)
  df_of <- df_of_areas(a)
  one <- cells[[1L]]
  zero <- cells[[2L]]
  v <- variance[one] + variance[zero]
  kept <- pmin(fewest[one], fewest[zero]) >= FEWEST_OF_HOMOGENEITY & v > 0
  if (sum(kept) < 2L) {
    return(c(sum(kept), NaN, NaN))
  }
  one <- one[kept]
  zero <- zero[kept]
  v <- v[kept]
  d <- area[one] - area[zero]
  df <- v^2 / (variance[one]^2 / df_of[one] + variance[zero]^2 / df_of[zero])
  total <- function(value) {
    sum(stats::qnorm(stats::pt(-abs(d - value) / sqrt(v), df))^2)
  }
  least <- stats::optimize(total, range(d), tol = 1e-12)$objective
  points <- seq(min(d), max(d), length.out = 65L)
  best <- which.min(vapply(points, total, 0))
  near <- points[c(max(best - 1L, 1L), min(best + 1L, 65L))]
  least <- min(least, stats::optimize(total, near, tol = 1e-12)$objective)
  c(sum(kept), least, stats::pchisq(least, sum(kept) - 1, lower.tail = FALSE))
}

# Every number of a comparison of a report, from the areas of the group and then of its reference in
# all strata.
crosscheck_adjusted_areas <- function(
  area,
  variance,
  positives,
  negatives,
  n,
  contrast,
  level,
  limit,
  together,
  counted = NULL,
  weight = NULL,
  df = NULL,
  as_one = NULL,
  of_all = NULL,
  shared = NULL,
  between = NULL,
  between_all = NULL,
  shared_between = NULL
) {
  a <- list(area = area, variance = variance, positives = positives, negatives = negatives, n = n)
  a$counted <- if (is.null(counted)) rbind(positives, negatives) else matrix(counted, 2L)
  a$weight <- if (is.null(weight)) positives else weight
  a$df <- df
  if (!is.null(shared)) {
    # of everybody, a row a quantity
    named <- function(x) {
      columns <- c("area", "variance", "positives", "negatives", if (!is.null(df)) "df")
      rows <- matrix(x, length(columns), byrow = TRUE)
      stats::setNames(lapply(seq_along(columns), function(k) rows[k, ]), columns)
    }
    a$all <- list(
      as_one = named(as_one),
      of_all = named(of_all),
      shared = matrix(shared, 3L, byrow = TRUE)
    )
  }
  if (!is.null(between)) {
    # of each side covariance, and products of shares in label 1 and in label 0
    size <- length(area) / 2
    matrices <- function(x) {
      of_each <- matrix(x, size^2)
      lapply(seq_len(ncol(of_each)), function(k) matrix(of_each[, k], size, byrow = TRUE))
    }
    side <- function(x) list(covariance = x[[1L]], labels = x[2:3])
    x <- matrices(between)
    a$between <- list(side(x[1:3]), side(x[4:6]))
    if (!is.null(shared)) {
      a$all$between <- side(matrices(between_all))
      a$all$shared_between <- matrices(shared_between)
    }
  }
  row <- compare_adjusted_areas(
    a,
    contrast,
    limit,
    level,
    together
  )
  as_columns(list(row[names(row) != "method"]))
}

compare_adjusted_areas <- function(a, contrast, limit, level, together) {
  values <- adjusted_area_values(a)
  found <- area_homogeneity(a, values$cells)
  if (contrast == "ratio") {
    found[2:3] <- NaN
  }
  if (values$spread) {
    found[2:3] <- NaN
  }
  if (!is.null(a$all)) {
    found <- c(0, NaN, NaN)
  }
  compare_adjusted(values, contrast, limit, level, together, c(length(values$cells[[1L]]), found))
}
