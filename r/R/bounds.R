# Worst-case bounds of a ratio or difference of rates over all values that rows left out could have (Manski 2003, Partial
# Identification of Probability Distributions), and the interval for the true value (Imbens and Manski 2004, Econometrica
# 72, 1845-1857; Stoye 2009, Econometrica 77, 1299-1315). An assignment gives each row one place, so that the extreme table
# has two independent binomial counts given their sizes; limits are by the score test with the continuity correction.

# Columns of the cells by label and prediction: tp, fp, fn, tn; or selected, not selected.
cell_of <- function(y, p, n_cells) {
  if (n_cells == 2L) 2L - p else matrix(c(4L, 3L, 2L, 1L), 2L)[1L + y, 1L + p]
}

# Where rows could fall of which group, y, p are known (-1 where not): a for successes of the group, b for its failures,
# c and d for those of the reference, o for none of them.
places_of <- function(group, y, p, pair, count, part, n_cells) {
  every <- expand.grid(
    g = if (group < 0) seq_len(count) else group + 1, y = if (y < 0) 0:1 else y, p = if (p < 0) 0:1 else p
  )
  unique(vapply(seq_len(nrow(every)), function(r) {
    cell <- cell_of(every$y[r], every$p[r], n_cells)
    at <- match(every$g[r], pair)
    if (is.na(at) || !(cell %in% part$case)) return("o")
    c("a", "b", "c", "d")[2 * at - (cell %in% part$success)]
  }, ""))
}

# The extreme table: every row where it pushes hardest; of rows that could be either of two, every split is tried.
extreme_table <- function(base, patterns, places, sign, contrast) {
  good <- if (sign > 0) c("a", "d") else c("b", "c")
  bad <- setdiff(c("a", "b", "c", "d"), good)
  tables <- matrix(base, 1L, dimnames = list(NULL, c("a", "b", "c", "d")))
  pooled <- list()
  for (r in seq_along(places)) {
    here <- intersect(good, places[[r]])
    if (!length(here) && "o" %in% places[[r]]) next
    if (!length(here)) here <- intersect(bad, places[[r]])
    key <- paste(here, collapse = "")
    pooled[[key]] <- (if (is.null(pooled[[key]])) 0 else pooled[[key]]) + patterns$n[r]
  }
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
  if (all(is.na(value))) return(list(value = NaN, cells = rep(NaN, 4L)))
  top <- tables[which.max(sign * value), ]
  list(value = sign * max(sign * value, na.rm = TRUE), cells = unname(c(top[1L], top[1L] + top[2L], top[3L], top[3L] + top[4L])))
}

# z of a null value, with or without the continuity correction.
extreme_z <- function(cells, contrast, null, continuity) {
  z <- score_z(cells[1L], cells[2L], cells[3L], cells[4L], contrast, null, TRUE)
  if (!continuity) return(z)
  w <- if (contrast == "ratio") null else 1
  distance <- abs(cells[1L] / cells[2L] - (if (contrast == "ratio") null * cells[3L] / cells[4L] else cells[3L] / cells[4L] + null))
  step <- (1 / cells[2L] + w / cells[4L]) / 2
  if (distance <= step) 0 else z * (distance - step) / distance
}

extreme_limit <- function(end, contrast, critical, side) {
  cells <- end$cells
  ratio <- contrast == "ratio"
  if (ratio && side < 0 && cells[1L] == 0) return(0)
  if (ratio && side > 0 && cells[3L] == 0) return(Inf)
  to <- if (ratio) exp else identity
  edge <- if (ratio) 40 else 1 - 1e-14
  from <- if (!ratio) end$value else if (end$value > 0 && is.finite(end$value)) log(end$value) else if (end$value > 0) edge else -edge
  z <- function(x) max(-1e6, min(1e6, extreme_z(cells, contrast, to(x), TRUE)))
  if (!ratio && side * z(side * edge) >= -critical) return(side)
  to(if (side < 0) root_between(function(x) z(x) - critical, -edge, from) else root_between(function(x) z(x) + critical, from, edge))
}

# Critical value between the two-sided quantile and the one-sided one, by the distance of the bounds in standard errors.
imbens_manski <- function(width, level, n) {
  if (width < sqrt(2 * log(log(max(n, 16))))) return(stats::qnorm((1 + level) / 2))
  if (width > 20) return(stats::qnorm(level))
  stats::uniroot(
    function(c) stats::pnorm(c + width) - stats::pnorm(-c) - level,
    c(stats::qnorm(level) - 1e-9, stats::qnorm((1 + level) / 2)), tol = 1e-14
  )$root
}

# Bounds and interval of every pair. group, y, p: what is known of rows left out, 0-based or 0/1, -1 where unknown; n:
# their numbers; rates: of each pair, by name.
crosscheck_worst_case <- function(totals, group, y, p, n, rates, first, second, contrast, level) {
  patterns <- data.frame(group = group, y = y, p = p, n = n)
  found <- lapply(seq_along(first), function(k) {
    pair <- c(first[k], second[k])
    parts <- as_metric(rates[k], ncol(totals))$parts
    both <- lapply(parts, function(part) {
      hits <- rowSums(totals[pair, part$success, drop = FALSE])
      cases <- rowSums(totals[pair, part$case, drop = FALSE])
      places <- lapply(seq_len(nrow(patterns)), function(r) {
        places_of(patterns$group[r], patterns$y[r], patterns$p[r], pair, nrow(totals), part, ncol(totals))
      })
      base <- c(hits[1L], cases[1L] - hits[1L], hits[2L], cases[2L] - hits[2L])
      lapply(c(-1, 1), function(sign) extreme_table(base, patterns, places, sign, contrast[k]))
    })
    ends <- vapply(1:2, function(s) mean(vapply(both, function(b) b[[s]]$value, 0)), 0)
    if (anyNA(ends)) return(c(ends, NaN, NaN))
    width <- min(vapply(both, function(b) {
      v <- c(b[[1L]]$value, b[[2L]]$value)
      if (v[1L] == v[2L]) return(0)
      min(vapply(1:2, function(s) {
        null <- v[3L - s]
        if (contrast[k] == "ratio" && (null == 0 || is.infinite(null))) 10 else abs(extreme_z(b[[s]]$cells, contrast[k], null, FALSE))
      }, 0))
    }, 0))
    c <- imbens_manski(width, level, sum(totals) + sum(patterns$n))
    limits <- vapply(1:2, function(s) {
      side <- 2 * s - 3
      at <- vapply(both, function(b) extreme_limit(b[[s]], contrast[k], c, side), 0)
      if (length(at) == 1L) return(at)
      value <- vapply(both, function(b) b[[s]]$value, 0)
      max(-1, min(1, ends[s] + side * sqrt(sum(((at - value) / length(at))^2))))
    }, 0)
    base::c(ends, limits)
  })
  found <- do.call(rbind, found)
  list(low = found[, 1L], high = found[, 2L], ci_low = found[, 3L], ci_high = found[, 4L])
}
