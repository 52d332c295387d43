# Worst-case bounds of a ratio or difference of rates over all values that rows left out could have
# (Manski 2003, Partial Identification of Probability Distributions), and the interval for the true
# value (Imbens and Manski 2004, Econometrica 72, 1845-1857; Stoye 2009, Econometrica 77,
# 1299-1315). An assignment gives each row one place, so that the extreme table has two independent
# binomial counts given their sizes; limits are by the score test with the continuity correction.

PLACES <- c("a", "b", "c", "d")

# Where rows could fall of which group, y, p are known (-1 where not): a for successes of the group,
# b for its failures, c and d for those of the reference, o for none of them.
places_of <- function(group, y, p, pair, count, part, n_cells) {
  known_or <- function(known, all) if (known < 0) all else known
  every <- expand.grid(
    g = known_or(group, seq_len(count) - 1) + 1,
    y = known_or(y, 0:1),
    p = known_or(p, 0:1)
  )
  cell <- if (n_cells == 2L) 2 - every$p else 4 - every$y - 2 * every$p
  at <- match(every$g, pair)
  unique(ifelse(is.na(at) | !cell %in% part$case, "o", PLACES[2 * at - cell %in% part$success]))
}

# The extreme table: every row where it pushes hardest; of rows that could be either of two, every
# split is tried.
extreme_table <- function(base, places, rows, sign, contrast) {
  # successes of the group and failures of the reference raise the contrast
  good <- if (sign > 0) c("a", "d") else c("b", "c")
  pooled <- c()
  for (r in seq_along(places)) {
    here <- intersect(good, places[[r]])
    if (!length(here) && "o" %in% places[[r]]) {
      next
    }
    key <- paste(if (length(here)) here else intersect(PLACES, places[[r]]), collapse = "")
    pooled[key] <- sum(pooled[key], rows[r], na.rm = TRUE)
  }
  tables <- matrix(base, 1L, dimnames = list(NULL, PLACES))
  for (key in names(pooled)) {
    to <- strsplit(key, "")[[1L]]
    n <- pooled[[key]]
    share <- if (length(to) == 1L) n else unique(round(seq(0, n, length.out = min(n, 2000) + 1)))
    tables <- tables[rep(seq_len(nrow(tables)), each = length(share)), , drop = FALSE]
    share <- rep(share, length.out = nrow(tables))
    tables[, to[1L]] <- tables[, to[1L]] + share
    if (length(to) == 2L) tables[, to[2L]] <- tables[, to[2L]] + n - share
  }
  first <- tables[, "a"] / (tables[, "a"] + tables[, "b"])
  second <- tables[, "c"] / (tables[, "c"] + tables[, "d"])
  value <- if (contrast == "ratio") first / second else first - second
  if (all(is.na(value))) {
    return(list(value = NaN))
  }
  top <- unname(tables[which.max(sign * value), ])
  cells <- list(top[1L], top[1L] + top[2L], top[3L], top[3L] + top[4L])
  list(value = sign * max(sign * value, na.rm = TRUE), cells = cells)
}

# Critical value between the two-sided quantile and the one-sided one, by the distance of the bounds
# in standard errors.
imbens_manski <- function(width, level, n, df = Inf) {
  if (width < sqrt(2 * log(log(max(n, 16))))) {
    return(stats::qt((1 + level) / 2, df))
  }
  if (width > 20) {
    return(stats::qt(level, df))
  }
  ends <- c(stats::qt(level, df) - 1e-9, stats::qt((1 + level) / 2, df))
  stats::uniroot(
    function(c) stats::pt(c + width, df) - stats::pt(-c, df) - level,
    ends,
    tol = 1e-14
  )$root
}

# Bounds and interval of every pair. group, y, p: what is known of rows left out, 0-based or 0/1, -1
# where unknown; n:
# their numbers; rates: of each pair, by name.
crosscheck_worst_case <- function(totals, group, y, p, n, rates, first, second, contrast, level) {
  found <- vapply(
    seq_along(first),
    function(k) {
      pair <- c(first[k], second[k])
      ratio <- contrast[k] == "ratio"
      both <- lapply(as_metric(rates[k], ncol(totals))$parts, function(part) {
        hits <- rowSums(totals[pair, part$success, drop = FALSE])
        cases <- rowSums(totals[pair, part$case, drop = FALSE])
        places <- Map(
          places_of,
          group,
          y,
          p,
          MoreArgs = list(pair, nrow(totals), part, ncol(totals))
        )
        lapply(c(-1, 1), function(sign) {
          extreme_table(rbind(hits, cases - hits), places, n, sign, contrast[k])
        })
      })
      values <- vapply(both, function(b) c(b[[1L]]$value, b[[2L]]$value), c(0, 0))
      ends <- rowMeans(values)
      if (anyNA(ends)) {
        return(c(ends, NaN, NaN))
      }
      width <- min(vapply(
        both,
        function(b) {
          at <- c(b[[1L]]$value, b[[2L]]$value)
          if (at[1L] == at[2L]) {
            return(0)
          }
          min(vapply(
            1:2,
            function(s) {
              null <- at[3L - s]
              if (ratio && (null == 0 || is.infinite(null))) {
                return(10)
              }
              abs(do.call(score_z, c(b[[s]]$cells, contrast[k], null)))
            },
            0
          ))
        },
        0
      ))
      critical <- imbens_manski(width, level, sum(totals, n))
      c(
        ends,
        vapply(
          1:2,
          function(s) {
            by <- lapply(both, function(b) {
              do.call(score_method, c(b[[s]]$cells, contrast[k], TRUE, TRUE))
            })
            mover_method(by)$end(critical, c(-1, 1)[s])
          },
          0
        )
      )
    },
    numeric(4L)
  )
  list(low = found[1L, ], high = found[2L, ], ci_low = found[3L, ], ci_high = found[4L, ])
}
