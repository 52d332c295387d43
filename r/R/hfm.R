# Distances between groups as sets of rows, in all pairs, and their tests (Bian and Luo 2024. Does
# machine bring in extra bias in learning? Equations 1 to 3, section 3).

#' Distance between two sets of rows
#'
#' The distance of every row to its nearest row in the other set, summed up over the rows of either
#' set; the larger direction counts. With the maximum it is the symmetric Hausdorff distance. All
#' pairs are computed, from differences, one row at a time.
#'
#' @param a,b Numeric matrices with the same columns.
#' @param statistic "max", "mean", or a number in (0, 1]: the smallest distance that at least this
#'   share of the rows do not exceed.
#'
#' @return A list: value; a_to_b and b_to_a, the two directions; row_a_to_b, nearest_a_to_b,
#'   row_b_to_a, nearest_b_to_a, the first rows that attain them (NA for the mean).
#'
#' @references Bian and Luo (2024). Does machine bring in extra bias in learning? Equations 1 and 2.
#'
#' @examples
#' fs_set_distance(rbind(c(0, 0), c(1, 0)), rbind(c(0, 0), c(1, 2)))$value
#' @export
fs_set_distance <- function(a, b, statistic = "max") {
  need_arguments()
  check_rows(a, b)
  ab <- row_minima(a, b)
  ba <- row_minima(b, a)
  first <- over_minima(ab$distance, statistic)
  second <- over_minima(ba$distance, statistic)
  as_numbers(list(
    value = max(first$value, second$value),
    a_to_b = first$value,
    b_to_a = second$value,
    row_a_to_b = first$row,
    nearest_a_to_b = ab$nearest[first$row],
    row_b_to_a = second$row,
    nearest_b_to_a = ba$nearest[second$row]
  ))
}

# Distance of every row of a to its nearest row of b, and that row: from differences, one row at a
# time; of many rows the nearest is searched in blocks of all pairs, without |a|^2, which is the
# same for all of b.
row_minima <- function(a, b, cells = 4e6) {
  rows <- seq_len(nrow(a))
  nearest <- if (nrow(a) * nrow(b) <= 1e6) {
    columns <- t(b)
    vapply(rows, function(i) which.min(colSums((columns - a[i, ])^2)), 0L)
  } else {
    unlist(lapply(
      unname(split(rows, (rows - 1L) %/% max(1L, floor(cells / nrow(b))))),
      function(block) {
        inner <- 2 *
          tcrossprod(a[block, , drop = FALSE], b) -
          rep(rowSums(b^2), each = length(block))
        max.col(inner, ties.method = "first")
      }
    ))
  }
  list(distance = sqrt(rowSums((a - b[nearest, , drop = FALSE])^2)), nearest = as.integer(nearest))
}

over_minima <- function(distance, statistic) {
  if (identical(statistic, "mean")) {
    return(list(value = mean(distance), row = NA_integer_))
  }
  row <- if (identical(statistic, "max")) {
    which.max(distance)
  } else {
    if (is.character(statistic)) {
      choice_of(statistic, "statistic", c("max", "mean"))
    }
    numbers_in(statistic, "statistic", 0, 1, open = "low")
    order(distance)[max(ceiling(statistic * length(distance) * (1 - 1e-15)), 1)]
  }
  list(value = distance[row], row = row)
}

check_rows <- function(a, b) {
  for (rows in list(a, b)) {
    if (!is.matrix(rows) || !is.numeric(rows)) {
      stop("the sets must be numeric matrices", call. = FALSE)
    }
    if (!length(rows)) {
      stop("a set is empty", call. = FALSE)
    }
    if (!all(is.finite(rows))) stop("the sets must hold finite numbers only", call. = FALSE)
  }
  if (ncol(a) != ncol(b)) stop("the sets must have the same columns", call. = FALSE)
}

#' One projection of the approximate distance between two sets (Algorithm 2)
#'
#' Rows are sorted by their projection; each is compared with at most `m2` rows of the other set
#' whose projection is not larger and `m2` whose projection is not smaller. The result never lies
#' below [fs_set_distance()].
#'
#' @param a,b Numeric matrices with the same columns.
#' @param w Weights of the projection, with absolute values that sum to 1.
#' @param m2 Number of neighbours on either side.
#'
#' @return A number.
#'
#' @references Bian and Luo (2024), Algorithm 2.
#'
#' @examples
#' fs_approx_set_distance(rbind(c(0, 0), c(1, 0)), rbind(c(0, 0), c(1, 2)), c(0.4, 0.6), 1)
#' @export
fs_approx_set_distance <- function(a, b, w, m2) {
  need_arguments()
  check_rows(a, b)
  numbers_in(w, "w", size = ncol(a))
  numbers_in(m2, "m2", 1, whole = TRUE)
  rows <- rbind(a, b)
  group <- rep(1:2, c(nrow(a), nrow(b)))
  along <- drop(rows %*% w)
  sorted <- order(along)
  max(vapply(
    seq_along(along),
    function(i) {
      other <- sorted[group[sorted] != group[i]]
      below <- utils::tail(other[along[other] <= along[i]], m2)
      above <- utils::head(other[along[other] >= along[i]], m2)
      min(sqrt(colSums((t(rows[unique(c(below, above)), , drop = FALSE]) - rows[i, ])^2)))
    },
    0
  ))
}

# D, D_f and HFM = D_f / D - 1 of one group against all others: 0 where both distances are 0,
# infinite where only D is.
# x: coordinates; labels and predictions of any values, 1 apart where they differ.
hfm <- function(x, y_true, y_pred, in_group, scale = TRUE, statistic = "max") {
  in_group <- checked_sides(x, y_true, y_pred, in_group)
  if (scale) {
    x <- apply(x, 2, unit_scale)
  }
  levels <- sort(unique(c(y_true, y_pred)), method = "radix")
  d <- vapply(
    list(y_true, y_pred),
    function(y) {
      # two labels as one coordinate, more of them as one each
      z <- cbind(
        x,
        if (length(levels) <= 2L) match(y, levels) - 1 else outer(y, levels, "==") / sqrt(2)
      )
      fs_set_distance(z[in_group, , drop = FALSE], z[!in_group, , drop = FALSE], statistic)$value
    },
    0
  )
  list(d = d[1L], d_f = d[2L], hfm = harmonic_measure(d[1L], d[2L]), n = sum(in_group))
}

harmonic_measure <- function(d, d_f) ifelse(d == 0 & d_f == 0, 0, d_f / d - 1)

# The same of the columns of a frame.
crosscheck_hfm <- function(columns, y_true, y_pred, group, value, scale, statistic) {
  hfm(frame_coordinates(columns, scale), y_true, y_pred, group == value, FALSE, statistic)
}

checked_sides <- function(x, y_true, y_pred, in_group) {
  in_group <- as.logical(in_group)
  if (any(lengths(list(in_group, y_true, y_pred)) != nrow(x))) {
    stop("x, y_true, y_pred and in_group must have one entry per row", call. = FALSE)
  }
  if (!any(in_group) || all(in_group)) {
    stop("`in_group` must be TRUE for some rows and FALSE for others", call. = FALSE)
  }
  in_group
}

unit_scale <- function(x) {
  if (max(x) == min(x)) numeric(length(x)) else (x - min(x)) / (max(x) - min(x))
}

# Columns of a frame as coordinates: numbers to [0, 1], every category a 0/1 column.
frame_coordinates <- function(columns, scale) {
  do.call(
    cbind,
    lapply(columns, function(x) {
      if (is.character(x)) {
        return(outer(x, sort(unique(x), method = "radix"), "==") + 0)
      }
      cbind(if (scale == "minmax") unit_scale(as.numeric(x)) else as.numeric(x))
    })
  )
}

#' HFM of a data frame: distances between groups as sets of rows, with tests
#'
#' D of features and labels, D_f of features and predictions, HFM = D_f / D - 1, for every value of
#' the sensitive column against all others (once where there are two), and their maximum over
#' values. Numbers are mapped to 0 to 1, categories become 0/1 columns. Are the groups further apart
#' than random ones? Their labels are permuted among the rows, which gives D and D_f of groups of
#' the same sizes. Does the classifier add distance? In every row label and prediction change places
#' with probability one half, which gives HFM of a classifier that adds none. p = (1 + #\{drawn >=
#' observed\}) / (1 + B), adjusted by Holm over values. The tests need all pairwise distances
#' (memory grows with the square of the rows), and are left out above `most` rows. The stability
#' range holds 90% of the values in random subsamples of 80% of the rows; no confidence is claimed.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#' @param features Names of the feature columns; without `data` a data frame.
#' @param y_true,y_pred Outcome and prediction, two values each.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param pos_label The value of outcome and prediction that is good for the person, or
#'   `list(y_true = ..., y_pred = ...)`.
#' @param n_resamples Draws of the tests; 0 for none.
#' @param n_subsamples Subsamples of the stability range; 0 for none.
#' @param scale `"minmax"` or `"none"`.
#' @param statistic As in [fs_set_distance()].
#' @param seed Seed of the tests.
#' @param most Largest number of rows that are tested.
#' @param label_values Labels that may occur, as in [fs_audit()].
#' @param missing As in [fs_audit()], with a warning that counts the rows left out.
#'
#' @return A data frame with the tidy columns: metric (`"hfm_distance_labels"`, D;
#'   `"hfm_distance_predictions"`, D_f; `"hfm"`), group, reference, estimate, pvalue,
#'   pvalue_adjusted, n, stability_low, stability_high.
#'
#' @references Bian and Luo (2024). Does machine bring in extra bias in learning? Equations 1 to 3,
#'   section 3. Phipson and Smyth (2010). Permutation p-values should never be zero. Statistical
#'   Applications in Genetics and Molecular Biology 9, article 39.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))[1:150, ]
#' fs_hfm(people, "score", "qualified", "hired", "sex",
#'   pos_label = list(y_true = "yes", y_pred = 1), n_resamples = 99, n_subsamples = 20
#' )
#' @export
fs_hfm <- function(
  data = NULL,
  features,
  y_true,
  y_pred,
  sensitive_features,
  pos_label = 1,
  n_resamples = 199,
  n_subsamples = 50,
  scale = "minmax",
  statistic = "max",
  seed = 1,
  most = 2000,
  missing = "raise",
  label_values = NULL
) {
  arguments <- given_arguments()
  choice_of(scale, "scale", c("minmax", "none"))
  numbers_in(n_resamples, "n_resamples", 0, whole = TRUE)
  numbers_in(n_subsamples, "n_subsamples", 0, whole = TRUE)
  if (!identical(most, Inf)) {
    numbers_in(most, "most", 0)
  }
  for (name in c("y_true", "y_pred")) {
    if (is.null(arguments[[name]])) stop_argument(name, "NULL", "a column")
  }
  columns <- arguments[c("y_true", "y_pred", "sensitive_features", "features")]
  read <- settle_missing(arguments$data, columns, missing)
  input <- read_columns(
    read$data,
    read$y_true,
    read$y_pred,
    NULL,
    read$sensitive_features,
    pos_label,
    label_values = label_values,
    whole = read$whole
  )
  values <- feature_columns(read$data, read$features, input$n)
  grouping <- make_groups(input$attributes)
  rows <- with_seed(
    seed,
    hfm_rows(values, input, grouping, n_resamples, n_subsamples, scale, statistic, most)
  )
  as_audit(rows, "hfm", input)
}

feature_columns <- function(data, features, n) {
  if (!is.list(if (is.null(data)) features) && !(is.character(features) && length(features))) {
    stop_argument("features", listed(features), "names of columns, or without `data` a data frame")
  }
  columns <- if (is.null(data)) {
    as.list(features)
  } else {
    lapply(stats::setNames(features, features), function(name) column_of(data, name, "features"))
  }
  if (length(columns) && (is.null(names(columns)) || !all(nzchar(names(columns))))) {
    stop_argument(
      "features",
      "columns without names",
      "a data frame, or a list whose columns all have names"
    )
  }
  for (name in names(columns)) {
    columns[[name]] <- feature_of(columns[[name]], name, n)
  }
  if (!length(columns)) {
    stop_argument("features", "no columns", "one feature or more")
  }
  columns
}

# One feature as numbers or text. Text of which nearly every row has a value of its own puts all
# rows equally far apart.
feature_of <- function(x, name, n) {
  # dates are numbers, not categories
  if (is_date(x)) {
    x <- days_of(x)
  }
  if (length(x) != n) {
    stop_argument("features", paste(length(x), "values of", name), paste(n, "values"))
  }
  if (anyNA(x) || (is.numeric(x) && any(is.infinite(x)))) {
    stop_argument(
      "features",
      paste("missing or infinite values in", name),
      "a finite value in every row"
    )
  }
  if (is.numeric(x)) {
    return(x)
  }
  different <- length(unique(label_text(x)))
  if (different > 20 && different >= 0.9 * n) {
    stop_argument(
      "features",
      paste0('"', name, '", an identifier with ', different, " values in ", n, " rows"),
      "numbers, dates, and categories that several rows share"
    )
  }
  label_text(x)
}

# Dates, times and durations as days.
days_of <- function(x) {
  if (inherits(x, "POSIXt")) {
    return(as.numeric(as.POSIXct(x)) / 86400)
  }
  if (inherits(x, "difftime")) as.numeric(x, units = "days") else as.numeric(x)
}

hfm_rows <- function(columns, input, grouping, n_resamples, n_subsamples, scale, statistic, most) {
  x <- frame_coordinates(columns, scale)
  present <- grouping$groups[grouping$sizes > 0]
  sides <- if (length(present) == 2L) present[2L] else present
  inside <- lapply(sides, function(g) grouping$labels == g)
  distances <- vapply(
    inside,
    function(rows) {
      unlist(hfm(x, input$y_true, input$y_pred, rows, FALSE, statistic)[c("d", "d_f")])
    },
    numeric(2)
  )
  seen <- array(distances, c(dim(distances), 1L))
  tested <- n_resamples > 0 && input$n <= most
  pairs <- if (input$n <= most) hfm_pairs(x, input$y_true, input$y_pred, inside)
  drawn <- if (tested) hfm_draws(pairs, n_resamples, statistic)
  stable <- if (n_subsamples > 0 && input$n <= most) hfm_subsamples(pairs, n_subsamples, statistic)
  of_entry <- function(of, group) {
    lapply(1:3, function(k) {
      observed <- drawn_of(list(permuted = seen, exchanged = seen), of, k)
      row <- tidy_row(
        c("hfm_distance_labels", "hfm_distance_predictions", "hfm")[k],
        group,
        if (length(present) == 2L) present[1L] else "all others",
        estimate = observed,
        n = input$n,
        method = paste0("exact set distances (", statistic, ")"),
        rate = NA_real_,
        rate_reference = NA_real_
      )
      if (tested) {
        p <- upper_share(observed, drawn_of(drawn, of, k), FALSE)
        row[c("statistic", "pvalue", "mc_pvalue")] <- list(observed, p, share_error(p, n_resamples))
      }
      if (is.null(stable)) {
        return(row)
      }
      known <- drawn_of(list(permuted = stable, exchanged = stable), of, k)
      ends <- stats::quantile(known[!is.na(known)], c(0.05, 0.95), type = 1, names = FALSE)
      c(row, stability_low = ends[1L], stability_high = ends[2L])
    })
  }
  each <- seq_along(sides)
  rows <- c(
    unlist(Map(of_entry, each, sides), FALSE),
    if (length(sides) > 1L) of_entry(each, "maximum over values")
  )
  found <- bind_rows(rows)
  found$pvalue_adjusted <- found$pvalue
  for (name in unique(found$metric)) {
    here <- found$group != "maximum over values" & found$metric == name
    found$pvalue_adjusted[here] <- adjust_pvalues(found$pvalue[here], "holm")
  }
  if (tested) {
    found$mc_pvalue_adjusted <- length(sides) * found$mc_pvalue
  }
  found
}

# Squared distances of the features of all pairs of rows; labels add 1 where they differ.
hfm_pairs <- function(x, y_true, y_pred, inside) {
  check_rows(x, x)
  list(features = as.matrix(stats::dist(x))^2, y_true = y_true, y_pred = y_pred, inside = inside)
}

with_labels <- function(pairs, labels) {
  lapply(labels, function(y) pairs$features + outer(y, y, "!="))
}

# D and D_f (rows) of sides (columns), from squared distances of all pairs with labels and with
# predictions.
side_distances <- function(squared, sides, statistic) {
  farthest <- function(between) {
    over_minima(
      sqrt(between[cbind(seq_len(nrow(between)), max.col(-between, "first"))]),
      statistic
    )$value
  }
  vapply(
    sides,
    function(chosen) {
      vapply(
        squared,
        function(all) {
          between <- all[chosen, !chosen, drop = FALSE]
          max(farthest(between), farthest(t(between)))
        },
        0
      )
    },
    numeric(2)
  )
}

# Draws of D and D_f of every side, arrays 2 x sides x draws: under permuted rows, and with label
# and prediction exchanged in rows drawn at random; `exact`: in every way, for one side.
hfm_draws <- function(pairs, n_resamples, statistic, exact = c(FALSE, FALSE)) {
  n <- nrow(pairs$features)
  y <- list(pairs$y_true, pairs$y_pred)
  both <- with_labels(pairs, y)
  permuted <- if (exact[1L]) {
    utils::combn(
      n,
      sum(pairs$inside[[1L]]),
      function(k) {
        side_distances(both, list(seq_len(n) %in% k), statistic)
      },
      simplify = FALSE
    )
  } else {
    lapply(seq_len(n_resamples), function(b) {
      order <- sample.int(n)
      side_distances(both, lapply(pairs$inside, `[`, order), statistic)
    })
  }
  movers <- which(y[[1L]] != y[[2L]])
  exchanged <- lapply(seq_len(if (exact[2L]) 2^length(movers) else n_resamples), function(b) {
    swap <- if (!exact[2L]) {
      which(stats::runif(n) < 0.5)
    } else {
      movers[bitwAnd(b - 1L, bitwShiftL(1L, seq_along(movers) - 1L)) > 0L]
    }
    changed <- list(replace(y[[1L]], swap, y[[2L]][swap]), replace(y[[2L]], swap, y[[1L]][swap]))
    side_distances(with_labels(pairs, changed), pairs$inside, statistic)
  })
  as_array <- function(x) array(unlist(x), c(2L, length(pairs$inside), length(x)))
  list(permuted = as_array(permuted), exchanged = as_array(exchanged))
}

hfm_subsamples <- function(pairs, n_subsamples, statistic, share = 0.8) {
  n <- nrow(pairs$features)
  both <- with_labels(pairs, list(pairs$y_true, pairs$y_pred))
  array(
    replicate(n_subsamples, {
      rows <- sample.int(n, max(round(share * n), 2))
      drawn <- lapply(both, `[`, rows, rows)
      vapply(
        pairs$inside,
        function(side) {
          if (length(unique(side[rows])) < 2L) {
            return(c(NA_real_, NA_real_))
          }
          side_distances(drawn, list(side[rows]), statistic)
        },
        numeric(2)
      )
    }),
    c(2L, length(pairs$inside), n_subsamples)
  )
}

# Draws of D, D_f (of permuted rows) or HFM (of exchanged labels) of some sides together: maxima
# over the sides.
drawn_of <- function(drawn, sides, quantity) {
  largest <- function(from, which) apply(from[which, sides, , drop = FALSE], 3L, max)
  if (quantity < 3L) {
    return(largest(drawn$permuted, quantity))
  }
  harmonic_measure(largest(drawn$exchanged, 1L), largest(drawn$exchanged, 2L))
}

# The tests of one side, by all permutations (exchanges) where they are at most 10,000, with their
# Monte Carlo errors.
hfm_tests <- function(
  x,
  y_true,
  y_pred,
  in_group,
  n_resamples = 999,
  scale = TRUE,
  statistic = "max",
  exact = NULL
) {
  in_group <- checked_sides(x, y_true, y_pred, in_group)
  if (scale) {
    x <- apply(x, 2, unit_scale)
  }
  few <- c(choose(length(in_group), sum(in_group)), 2^sum(y_true != y_pred)) <= 10000
  exact <- if (is.null(exact)) few else rep(exact, 2L)
  pairs <- hfm_pairs(x, y_true, y_pred, list(in_group))
  d <- side_distances(with_labels(pairs, list(y_true, y_pred)), pairs$inside, statistic)
  observed <- c(d = d[1L], d_f = d[2L], hfm = harmonic_measure(d[1L], d[2L]))
  draws <- hfm_draws(pairs, n_resamples, statistic, exact)
  drawn <- lapply(c(d = 1, d_f = 2, hfm = 3), function(k) drawn_of(draws, 1L, k))
  exact <- exact[c(1L, 1L, 2L)]
  p <- unlist(Map(upper_share, observed, drawn, exact))
  c(
    as.list(observed),
    stats::setNames(as.list(p), paste0("p_", names(observed))),
    list(
      drawn = drawn,
      n_resamples = lengths(drawn),
      exact = exact,
      error = ifelse(exact, 0, share_error(p, lengths(drawn)))
    )
  )
}

# Share of values that are at least the observed one, ties within rounding counted.
upper_share <- function(observed, drawn, exact) {
  limit <- if (is.infinite(observed)) observed else observed - 1e-9 * max(abs(observed), 1)
  if (exact) mean(drawn >= limit) else (1 + sum(drawn >= limit)) / (1 + length(drawn))
}

# Monte Carlo error of the difference of two shares of n draws.
share_error <- function(p, n) sqrt(2 * (p * (1 - p) + 1 / n) / n)
