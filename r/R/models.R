# Scores of two models on the same people: change of AUC (DeLong, DeLong and Clarke-Pearson 1988,
# Biometrics 44, 837-845), Brier score, MADD and ABROCA. For the last two rows are drawn again with
# the scores of both models, and the noise goes through the directional derivative of a sum of sizes
# (Fang and Santos 2019, Review of Economic Studies 86, 377-412).

# `scores`: of the baseline and of the model; `members`: rows of the group and of its reference, or
# of the group alone.
# `bins`: at most so many quantiles of the pooled scores as bins of MADD; `n_bins`: equally wide
# ones instead.
crosscheck_paired_scores <- function(
  name,
  scores,
  y,
  members,
  levels,
  resamples,
  bins = NULL,
  n_bins = NULL
) {
  samples <- lapply(members, function(rows) lapply(scores, `[`, rows))
  labels <- lapply(members, function(rows) y[rows])
  switch(
    name,
    auc = auc_change(samples[[1L]], labels[[1L]], levels),
    brier = brier_change(samples[[1L]], labels[[1L]], levels),
    madd = madd_change(samples, levels, resamples, bins, n_bins),
    abroca = abroca_change(samples, labels, levels, resamples)
  )
}

# How far rows leave open what others do: 1 where none changed, 0 where twenty did; a row has
# changed whose contribution moved by .05, and one that moved less by that part of it. `moved`: of
# every set of rows.
unseen_shares <- function(moved) {
  vapply(moved, function(v) max(1 - sum(pmin(abs(v) / 0.05, 1)) / 20, 0), 0)
}

# By how much rows that were not seen to change may move a quantity, at a critical value (Tango's
# limit of no change).
unseen_reach <- function(critical, rows, shares) {
  sqrt(sum((shares * critical^2 / (rows + critical^2))^2))
}

normal_change <- function(before, after, s, df, levels, moved) {
  at <- after - before
  q <- stats::qt((1 + levels) / 2, df)
  shares <- unseen_shares(moved)
  if (s < 1e-12 && abs(at) < 1e-12) {
    shares[] <- 1
    s <- 0
  }
  half <- function(c) sqrt((c * s)^2 + unseen_reach(c, lengths(moved), shares)^2)
  reach <- vapply(q, half, 0)
  z <- if (abs(at) < 1e-14) {
    0
  } else if (all(shares == 0)) {
    at / s
  } else {
    critical_at(at, function(c) abs(at) - half(c), 1e-6)
  }
  list(
    before = before,
    after = after,
    estimate = at,
    std_error = s,
    low = at - reach[1L],
    high = at + reach[1L],
    joint_low = at - reach[2L],
    joint_high = at + reach[2L],
    statistic = z,
    pvalue = 2 * stats::pt(-abs(z), df)
  )
}

# Placements: of a row the share of the rows of the other label that it is on the right side of,
# ties half.
placements <- function(scores, y) {
  placed <- function(own, other) vapply(own, function(x) mean((other < x) + (other == x) / 2), 0)
  list(
    up = placed(scores[y == 1], scores[y == 0]),
    down = 1 - placed(scores[y == 0], scores[y == 1])
  )
}

auc_change <- function(scores, y, levels) {
  places <- lapply(scores, placements, y)
  moved <- Map(`-`, places[[2L]], places[[1L]])
  s <- sqrt(sum(vapply(moved, function(v) stats::var(v) / length(v), 0)))
  normal_change(mean(places[[1L]]$up), mean(places[[2L]]$up), s, Inf, levels, moved)
}

brier_change <- function(scores, y, levels) {
  e <- lapply(scores, function(s) (s - y)^2)
  moved <- e[[2L]] - e[[1L]]
  n <- length(y)
  normal_change(
    mean(e[[1L]]),
    mean(e[[2L]]),
    stats::sd(moved) / sqrt(n),
    n - 1,
    levels,
    list(moved)
  )
}

# Each model's MADD has bins at the quantiles of its own pooled scores.
madd_change <- function(samples, levels, resamples, bins = NULL, n_bins = NULL) {
  n <- vapply(samples, function(s) length(s[[1L]]), 0)
  edges <- lapply(1:2, function(k) {
    if (!is.null(n_bins)) {
      return(seq_len(n_bins - 1) / n_bins)
    }
    pooled_edges(samples[[1L]][[k]], samples[[2L]][[k]], if (is.null(bins)) 0 else bins)
  })
  # a model with fewer bins has empty ones, which add nothing
  width <- max(lengths(edges)) + 1L
  codes <- lapply(samples, function(s) {
    lapply(1:2, function(k) findInterval(s[[k]], edges[[k]]) + 1L)
  })
  share <- function(code) tabulate(code, width) / length(code)
  apart <- function(at) {
    vapply(
      1:2,
      function(k) share(codes[[1L]][[k]][at[[1L]]]) - share(codes[[2L]][[k]][at[[2L]]]),
      numeric(width)
    )
  }
  seen <- matrix(apart(lapply(n, seq_len)), width)
  drawn <- lapply(seq_len(resamples), function(b) {
    apart(lapply(n, function(size) sample.int(size, size, TRUE)))
  })
  near <- max(3, sqrt(log(min(n))), sqrt(2 * log(width)))
  directional_change(colSums(abs(seen)), seen, drawn, near, 1, 2, levels, n, pseudo = 4)
}

abroca_change <- function(samples, labels, levels, resamples) {
  grid <- (seq_len(257) - 0.5) / 257
  # curves of both groups by a model, of the rows `at`
  curves <- function(k, at) {
    lapply(1:2, function(g) {
      code <- match(samples[[g]][[k]][at[[g]]], sort(unique(samples[[g]][[k]][at[[g]]])))
      counts <- lapply(0:1, function(label) {
        tabulate(code[labels[[g]][at[[g]]] == label], max(code))
      })
      roc_points(counts[[1L]], counts[[2L]])
    })
  }
  rows <- lapply(labels, seq_along)
  areas <- vapply(1:2, function(k) do.call(roc_area_between, curves(k, rows)), 0)
  apart <- function(at) {
    vapply(1:2, function(k) Reduce(`-`, lapply(curves(k, at), roc_at, grid)), grid)
  }
  strata <- lapply(labels, function(y) list(which(y == 0), which(y == 1)))
  drawn <- lapply(seq_len(resamples), function(b) {
    apart(lapply(strata, function(s) {
      unlist(lapply(s, function(rows) rows[sample.int(length(rows), replace = TRUE)]))
    }))
  })
  moved <- unlist(
    Map(
      function(s, y) {
        places <- lapply(s, placements, y)
        list(places[[2L]]$down - places[[1L]]$down, places[[2L]]$up - places[[1L]]$up)
      },
      samples,
      labels
    ),
    recursive = FALSE
  )
  directional_change(
    areas,
    apart(rows),
    drawn,
    3,
    1 / 257,
    1,
    levels,
    lengths(unlist(strata, FALSE)),
    shares = unseen_shares(moved)
  )
}

# Limits of the change of a sum of sizes. Within 0, 1.5 and `near` standard errors a difference may
# be 0: three laws of the noise, of which the widest interval is taken, widened as if `pseudo` rows
# of either group had changed besides, or by what rows may change unseen (`shares` of every set).
directional_change <- function(
  sizes,
  seen,
  drawn,
  near,
  step,
  most,
  levels,
  rows,
  pseudo = 0,
  shares = NULL
) {
  n <- length(drawn)
  noise <- array(unlist(drawn), c(nrow(seen), 2L, n)) - as.vector(seen)
  spread <- apply(noise, 1:2, function(h) sqrt(mean((h - mean(h))^2)))
  laws <- vapply(
    c(0, 1.5, near),
    function(reach) {
      own <- vapply(
        1:2,
        function(k) {
          zero <- abs(seen[, k]) < reach * spread[, k]
          h <- matrix(noise[, k, ], nrow(seen))
          step *
            (colSums(h * ifelse(zero, 0, sign(seen[, k]))) + colSums(abs(h[zero, , drop = FALSE])))
        },
        numeric(n)
      )
      sort(own[, 2L] - own[, 1L])
    },
    numeric(n)
  )
  at <- sizes[2L] - sizes[1L]
  areas <- step * apply(abs(noise + as.vector(seen)), 2:3, sum)
  s <- stats::sd(areas[2L, ] - areas[1L, ])
  more <- pseudo * sum((most / rows)^2)
  laws <- laws * sqrt(1 + more / max(s, 1e-12)^2)
  tail <- (1 - levels[1L]) / 2
  k <- floor(tail * (n + 1) + 1e-9)
  ends <- c(-most, most)
  if (k >= 1) {
    ends <- c(max(at - max(laws[n + 1 - k, ]), -most), min(at - min(laws[k, ]), most))
  }
  if (s < 1e-12) {
    ends <- c(at, at)
    shares <- rep(1, length(rows))
  }
  if (!is.null(shares) && any(shares > 0)) {
    ends <- at +
      c(-1, 1) * sqrt((ends - at)^2 + (most * unseen_reach(stats::qnorm(1 - tail), rows, shares))^2)
  }
  # of a quantile of two simulations of this size
  error <- sqrt(s^2 + more) * sqrt(2 * tail * (1 - tail) / n) / stats::dnorm(stats::qnorm(tail))
  list(
    before = sizes[1L],
    after = sizes[2L],
    estimate = at,
    std_error = s,
    std_error_error = s / sqrt(n),
    low = ends[1L],
    high = ends[2L],
    low_error = error,
    high_error = error
  )
}

#' What a mitigation changes on the same people
#'
#' Scores before and after a mitigation as two models: change of MADD by rows drawn again (on one
#' grid, which depends on the group sizes only), of disparate impact and accuracy by the paired
#' score test, all by group against the reference; accuracy also of all rows. The twin of what
#' `MaddMitigator.evaluate` returns in Python.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#' @param y_true Outcome, two values.
#' @param before,after Scores between 0 and 1 of the same people.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param reference Reference group; default the largest.
#' @param pos_label,label_values,confidence_level,adjust,missing As in [fs_audit()].
#' @param cut Scores from it on predict the favourable outcome.
#' @param n_bins Bins of MADD; default by the group sizes.
#' @param n_resamples Samples drawn for the change of MADD.
#'
#' @return A data frame: metric, group, reference, before, after, estimate, std_error, ci_low,
#'   ci_high; accuracy has no reference.
#'
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and
#'   mitigating algorithmic unfairness with the MADD metric. Journal of Educational Data Mining
#'   16(1), 365-409.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' people$closer <- (people$score + mean(people$score)) / 2
#' fs_mitigation(people, "qualified", "score", "closer", "sex", pos_label = "yes", n_resamples = 99)
#' @export
fs_mitigation <- function(
  data = NULL,
  y_true,
  before,
  after,
  sensitive_features,
  reference = NULL,
  pos_label = 1,
  cut = 0.5,
  n_bins = NULL,
  confidence_level = 0.95,
  n_resamples = 1999,
  adjust = "holm",
  missing = "raise",
  label_values = NULL
) {
  arguments <- given_arguments()
  columns <- arguments[c("y_true", "before", "after", "sensitive_features")]
  read <- settle_missing(arguments$data, columns, missing)
  scores <- lapply(list(read$before, read$after), function(s) {
    as.numeric(column_of(read$data, s, "score"))
  })
  scene <- read_scene(
    read$data,
    read$y_true,
    NULL,
    NULL,
    read$sensitive_features,
    reference,
    pos_label,
    label_values = label_values,
    whole = read$whole
  )
  y <- scene$input$y_true
  if (any(lengths(scores) != scene$input$n) || anyNA(unlist(scores))) {
    stop_argument(
      "before",
      "missing values or another length",
      "a score of every row, before and after"
    )
  }
  labels <- scene$grouping$labels
  pairs <- matrix(scene$grouping$groups[scene$pairs], ncol = 2L)
  rows <- data.frame(group = labels, y = y, before = 0, after = 0)
  rows[c("before", "after")] <- lapply(scores, function(s) as.numeric(s >= cut))
  rates <- fs_compare_models(
    rows,
    "y",
    c(before = "before", after = "after"),
    "group",
    metrics = c("disparate_impact", "accuracy"),
    reference = pairs[1L, 2L],
    confidence_level = confidence_level,
    adjust = adjust
  )
  totals <- matrix(as.numeric(table(factor(paste0(y, rows$before, rows$after), PAIRED_CELLS))), 1L)
  every <- crosscheck_paired(
    totals,
    totals,
    1L,
    PAIRED_CELLS,
    "accuracy",
    "level",
    rep(confidence_level, 3L)
  )
  apart <- bind_rows(apply(
    pairs,
    1L,
    function(who) {
      members <- lapply(who, function(g) which(labels == g))
      one <- crosscheck_paired_scores(
        "madd",
        scores,
        y,
        members,
        rep(confidence_level, 2L),
        n_resamples,
        n_bins = n_bins
      )
      change_row("madd", who[1L], who[2L], one)
    },
    simplify = FALSE
  ))
  found <- rbind(
    apart,
    as.data.frame(rates)[names(apart)],
    as.data.frame(change_row("accuracy", "all rows", "", every))
  )
  found$metric <- paste0(found$metric, "_change")
  as_table(found, scene$input$unfavourable)
}

# A change as it stands in a table.
change_row <- function(metric, group, reference, one) {
  list(
    metric = metric,
    group = group,
    reference = reference,
    before = one$before,
    after = one$after,
    estimate = one$estimate,
    std_error = one$std_error,
    ci_low = one$low,
    ci_high = one$high
  )
}
