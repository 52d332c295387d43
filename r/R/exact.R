# Unconditional exact tests of two rates and their limits. Tables are ordered by the score statistic
# (Chan 1998, Statistics in Medicine 17, 1403-1413); the p-value is the largest over the rate of the
# larger group within its Clopper-Pearson interval of level 1 - gamma, plus gamma (Berger and Boos
# 1994, JASA 89, 1012-1016). Which tables are as extreme is decided by halving on the statistic of
# whole counts, where Python follows a curve in the nuisance rate.
exact_unconditional <- function(k0, n0, k1, n1, contrast, nulls, alternatives) {
  out <- numeric(length(nulls))
  for (alternative in unique(alternatives)) {
    own <- alternatives == alternative
    out[own] <- exact_pvalue(k0, n0, k1, n1, contrast, nulls[own], alternative)
  }
  out
}

# Error of the nuisance rate's interval, part of every p-value.
EXACT_GAMMA <- 1e-7
# Spacing of nuisance rates in standard errors of the larger group's rate, on the angular scale, and
# their least number;
# the same where the null hypothesis ends among them.
RATE_SPACING <- 0.22
FEWEST_RATES <- 24
DENSER <- 2
FEWEST_UP_TO_THE_END <- 48
# Standard errors of the smaller group for one of the larger one, up to which nuisance rates are
# dense enough for both.
AS_DENSE <- 1.3
# P(X >= Mx) is about exp(-2M(asin sqrt(x) - asin sqrt(q))^2): beyond this angle times 1/sqrt(M) some
# 1e-13 is left, near rates of 0 and 1 at most 5e-11, beside the 1e-7 that every p-value has in it.
RATE_REACH <- 3.87
# Statistics that differ by less, relative to 1 and more, are ties.
TIE <- 1e-9

exact_pvalue <- function(k0, n0, k1, n1, contrast, nulls, alternative) {
  p_of(exact_answers(c(k0, n0, k1, n1), contrast, nulls, alternative))
}

p_of <- function(answers) vapply(answers, `[[`, 0, "p")

# For each null value the p-value of an alternative; with it `from` and `up_to`, the counts of the
# larger group that are as extreme beside each count of the smaller one, and the larger group's rate
# where their probability is largest.
exact_answers <- function(table, contrast, nulls, alternative) {
  memory <- exact_memory(table, contrast)
  find_answers(list(list(memory = memory, nulls = nulls, alternative = alternative)))
  unname(mget(answer_keys(nulls, alternative), envir = memory$answers))
}

answer_keys <- function(nulls, alternative) sprintf("%a %s", nulls, alternative)

# Fewest rows of questions that are answered at once: R takes as long for one row as for a thousand.
ROWS_AT_ONCE <- 2e5

# Answers questions into the memories of their tables: many at once, of several tables. `asked`: of
# each its memory, null values and alternative; all of one contrast.
find_answers <- function(asked) {
  memories <- list()
  nulls <- numeric()
  alternatives <- character()
  keys <- character()
  whole_keys <- character()
  for (one in asked) {
    own_keys <- answer_keys(one$nulls, one$alternative)
    known <- vapply(own_keys, exists, NA, envir = one$memory$answers, inherits = FALSE)
    if (all(known)) {
      next
    }
    new <- own_keys[!known]
    memories <- c(memories, rep(list(one$memory), length(new)))
    nulls <- c(nulls, one$nulls[!known])
    alternatives <- c(alternatives, rep(one$alternative, length(new)))
    keys <- c(keys, new)
    whole_keys <- c(whole_keys, paste(one$memory$key, new))
  }
  new <- which(!duplicated(whole_keys))
  if (length(new) == 0L) {
    return(invisible())
  }
  contrast <- memories[[1L]]$contrast
  outside <- !is_inner_null(contrast, nulls[new])
  for (at in new[outside]) {
    assign(keys[at], list(p = 1), memories[[at]]$answers)
  }
  new <- new[!outside]
  tables <- vapply(memories[new], `[[`, numeric(4L), "table")
  rows_before <- cumsum(pmin(tables[2L, ], tables[4L, ]) + 1)
  for (own in split(seq_along(new), rows_before %/% ROWS_AT_ONCE)) {
    at <- new[own]
    # of two equal groups the one that the null says to have the larger rate is the larger one
    swaps <- is_larger(tables[, own, drop = FALSE], contrast, nulls[at])
    found <- computed_answers(memories[at], contrast, nulls[at], alternatives[at], swaps)
    for (k in seq_along(at)) {
      assign(keys[at[k]], found[[k]], memories[[at[k]]]$answers)
    }
  }
  for (at in new[nulls[new] == value_of_equality(contrast)]) {
    other <- other_form(memories[[at]]$table)
    if (alternatives[at] == "two-sided" && !is.null(other)) {
      memories[[at]]$answers[[keys[at]]]$p <- exact_equality_alone(other)
    }
  }
}

value_of_equality <- function(contrast) if (contrast == "difference") 0 else 1

# Of groups of one size either may count as the larger one, whose rate is the nuisance, and by
# successes another does than by failures. That the rates are equal is one question, of one of the two
# forms: this is the other one, NULL where it is the table itself.
other_form <- function(table) {
  if (table[2L] != table[4L]) {
    return(NULL)
  }
  n <- table[2L]
  fewer <- min(table[c(1L, 3L)])
  more <- max(table[c(1L, 3L)])
  itself <- fewer < n - more || (fewer == n - more && more <= n - fewer)
  if (itself) NULL else c(n - more, n, n - fewer, n)
}

# p-value of equal rates of a table of which nothing is remembered.
exact_equality_alone <- function(table) {
  memory <- new_memory(table, "difference", "")
  swap <- is_larger(cbind(table), "difference", 0)
  computed_answers(list(memory), "difference", 0, "two-sided", swap)[[1L]]$p
}

# Whether the group, and not the reference, is the larger one; tables: a column each.
is_larger <- function(tables, contrast, nulls) {
  turned <- if (contrast == "difference") -nulls else 1 / nulls
  more <- tables[1L, ] > tables[3L, ] | (tables[1L, ] == tables[3L, ] & nulls < turned)
  ifelse(tables[2L, ] == tables[4L, ], more, tables[2L, ] > tables[4L, ])
}

new_memory <- function(table, contrast, key) {
  memory <- new.env(parent = emptyenv())
  memory$table <- table
  memory$contrast <- contrast
  memory$key <- key
  memory$answers <- new.env(parent = emptyenv())
  memory$limits <- new.env(parent = emptyenv())
  memory$guesses <- list()
  memory
}

# Counts of the smaller groups of all tables that are remembered: about 50 MB of answers.
MOST_REMEMBERED <- 20000

# What is known of a table: answers, limits, and what does not depend on the null value. Tables are
# remembered until there are too many of them; then all are forgotten.
exact_memory <- local({
  known <- new.env(parent = emptyenv())
  remembered <- 0
  function(table, contrast) {
    key <- paste(c(sprintf("%a", table), contrast), collapse = " ")
    memory <- known[[key]]
    if (is.null(memory)) {
      counts <- min(table[c(2L, 4L)]) + 1
      if (remembered + counts > MOST_REMEMBERED) {
        known <<- new.env(parent = emptyenv())
        remembered <<- 0
      }
      remembered <<- remembered + counts
      memory <- new_memory(as.numeric(table), contrast, key)
      assign(key, memory, known)
    }
    memory
  }
})

# The answers of questions, one after the other: of each the memory of its table, a null value, an
# alternative, and whether the group is the larger one.
computed_answers <- function(memories, contrast, nulls, alternatives, swap) {
  tables <- vapply(memories, `[[`, numeric(4L), "table")
  k0 <- tables[1L, ]
  n0 <- tables[2L, ]
  k1 <- tables[3L, ]
  n1 <- tables[4L, ]
  observed <- score_z(k0, n0, k1, n1, contrast, nulls, FALSE)
  slack <- ifelse(is.finite(observed), TIE * pmax.int(1, abs(observed)), 0)
  # z rises with the count of the group and falls with that of the reference: for each count of the
  # smaller group the extreme counts of the other are a run from one end
  few <- ifelse(swap, n1, n0)
  many <- ifelse(swap, n0, n1)
  beside <- ifelse(swap, k0, k1)
  itself <- ifelse(swap, k1, k0)
  larger <- vector("list", length(nulls))
  nuisance <- larger
  for (k in seq_along(nulls)) {
    larger[[k]] <- larger_group(beside[k], many[k])
    nuisance[[k]] <- nuisance_rates(larger[[k]], few[k], contrast, nulls[k], swap[k])
  }
  # sides: 1 of what is as small as observed, -1 of what is as large; a test of both sides has both
  sides <- list(less = 1, greater = -1, `two-sided` = c(1, -1))[alternatives]
  of <- rep(seq_along(nulls), lengths(sides))
  side <- unlist(sides, use.names = FALSE)
  two_sided <- alternatives[of] == "two-sided"
  limit <- slack[of] + ifelse(two_sided, -abs(observed[of]), side * observed[of])
  # the larger group's counts beyond the limit: up to a count, or from one on
  is_up_to <- swap[of] == (side > 0)
  counts <- lapply(nuisance, `[[`, "counts")
  # the first guesses: tables whose contrast is the observed one, or as far on the null's other side
  alike <- contrast_of_rates(k0 / n0, k1 / n1, contrast)[of]
  mirrored <- if (contrast == "difference") 2 * nulls[of] - alike else nulls[of]^2 / alike
  alike <- ifelse(two_sided & side * observed[of] > 0, mirrored, alike)
  alike <- ifelse(is_inner_null(contrast, alike), alike, nulls[of])
  # rows: counts of the smaller group that are not all but impossible, of one side of a question after
  # the other; of the others nothing is asked
  part <- rep(seq_along(of), lengths(counts)[of])
  question <- of[part]
  in_few <- unlist(counts[of])
  in_smaller <- in_few / few[question]
  turned <- swap[question]
  rates <- ifelse(
    turned,
    other_rate(in_smaller, contrast, alike[part], FALSE),
    other_rate(in_smaller, contrast, alike[part], TRUE)
  )
  guess <- round(many[question] * within_ends(rates, 0, 1))
  names_of_guesses <- paste(ifelse(is_up_to, "up_to", "from"), alternatives[of], swap[of])
  rows_of_part <- split(seq_along(part), part)
  for (k in seq_along(of)) {
    curves <- memories[[of[k]]]$guesses[[names_of_guesses[k]]]
    rows <- rows_of_part[[k]]
    guess[rows] <- guessed_counts(curves, nulls[of[k]], in_few[rows] + 1, guess[rows])
  }
  # beyond the limit by any amount: the smallest number stands for none
  sign_of_excess <- ifelse(is_up_to, 1, -1)[part]
  allowance <- ifelse(is_up_to, .Machine$double.xmin, 0)[part]
  side_of_row <- side[part]
  limit_of_row <- limit[part]
  excess <- function(rows, of_many) {
    own <- question[rows]
    of_few <- in_few[rows]
    of_group <- of_few + turned[rows] * (of_many - of_few)
    of_reference <- of_few + of_many - of_group
    z <- score_z(of_group, n0[own], of_reference, n1[own], contrast, nulls[own], FALSE)
    sign_of_excess[rows] * (side_of_row[rows] * z - limit_of_row[rows]) - allowance[rows]
  }
  first <- first_count(excess, guess, many[question])
  up_to <- lapply(few, function(n) rep(-1, n + 1))
  from <- Map(function(n, most) rep(most + 1, n + 1), few, many)
  for (k in seq_along(of)) {
    own <- of[k]
    found <- first[rows_of_part[[k]]]
    memory <- memories[[own]]
    name <- names_of_guesses[k]
    known <- memory$guesses[[name]]
    curve <- rep(NA_real_, few[own] + 1)
    curve[counts[[own]] + 1] <- found
    memory$guesses[[name]] <- list(
      nulls = c(known$nulls, nulls[own]),
      counts = c(known$counts, list(curve))
    )
    # the observed table is as extreme as itself, also where rounding decides
    is_own <- side[k] * observed[own] <= limit[k]
    at <- itself[own] + 1
    if (is_up_to[k]) {
      up_to[[own]][counts[[own]] + 1] <- found - 1
      if (is_own) up_to[[own]][at] <- max(up_to[[own]][at], beside[own])
    } else {
      from[[own]][counts[[own]] + 1] <- found
      if (is_own) from[[own]][at] <- min(from[[own]][at], beside[own])
    }
  }
  for (k in which(alternatives == "two-sided" & abs(observed) <= slack)) {
    up_to[[k]][] <- many[k]
  }
  lapply(seq_along(nulls), function(k) {
    best <- largest_probability(larger[[k]], nuisance[[k]], few[k], up_to[[k]], from[[k]])
    list(
      p = min(best$value + EXACT_GAMMA, 1),
      null = nulls[k],
      swap = swap[k],
      up_to = up_to[[k]],
      from = from[[k]],
      rate = best$rate
    )
  })
}

# Guesses at the counts of these rows at a null value, on the line through what was found at the two
# nearest null values; `otherwise` where the row was not asked there.
guessed_counts <- function(curves, null, rows, otherwise) {
  if (is.null(curves)) {
    return(otherwise)
  }
  nearest <- order(abs(curves$nulls - null))
  line <- curves$counts[[nearest[1L]]][rows]
  if (length(nearest) > 1L) {
    share <- (null - curves$nulls[nearest[1L]]) / diff(curves$nulls[nearest[1:2]])
    second <- curves$counts[[nearest[2L]]][rows]
    second[is.na(second)] <- line[is.na(second)]
    line <- round(line + within_ends(share, -2, 2) * (second - line))
  }
  ifelse(is.na(line), otherwise, line)
}

# After so many steps by the slope every second one is a halving.
STEPS_BY_SLOPE <- 3

# For each row the first count from 0 to its n at which `excess(rows, counts)`, which rises with the
# count and all but straight, is not negative; n + 1 where it always is. A count and the one before
# it are asked at once, which ends the search of a row where the first is the answer, and gives the
# slope where it is not.
first_count <- function(excess, guess, n) {
  low <- rep(-1, length(guess))
  high <- n + 1
  open <- seq_along(guess)
  ask <- guess
  step <- 0
  while (length(open)) {
    ask <- pmax(pmin(ask, high[open] - 1), low[open] + 1)
    before <- pmax(ask - 1, 0)
    both <- excess(c(open, open), c(ask, before))
    at <- both[seq_along(open)]
    at_before <- both[-seq_along(open)]
    reached <- at >= 0
    reached_before <- at_before >= 0 & before > low[open] & before < ask
    high[open[reached]] <- ask[reached]
    high[open[reached_before]] <- before[reached_before]
    low[open[!reached]] <- ask[!reached]
    between <- reached & !reached_before
    low[open[between]] <- pmax(low[open[between]], ask[between] - 1)
    step <- step + 1
    next_ask <- ceiling((low[open] + high[open]) / 2)
    if (step <= STEPS_BY_SLOPE || step %% 2 == 0) {
      by_slope <- ceiling(ask - at / (at - at_before))
      use <- which(is.finite(by_slope) & at > at_before)
      next_ask[use] <- by_slope[use]
    }
    still <- high[open] - low[open] > 1
    open <- open[still]
    ask <- next_ask[still]
  }
  high
}

contrast_of_rates <- function(rate, reference, contrast) {
  switch(
    contrast,
    difference = rate - reference,
    ratio = rate / reference,
    odds_ratio = rate * (1 - reference) / (reference * (1 - rate))
  )
}

is_inner_null <- function(contrast, null) {
  if (contrast == "difference") abs(null) < 1 else null > 0 & is.finite(null)
}

# Rate of the smaller group where that of the larger one is q and the contrast, group against
# reference, is `null`;
# `swap`: the group is the larger one.
other_rate <- function(q, contrast, null, swap) {
  if (contrast == "ratio") {
    return(if (swap) q / null else q * null)
  }
  if (contrast == "odds_ratio") {
    factor <- if (swap) 1 / null else null
    return(q * factor / (1 - q + q * factor))
  }
  if (swap) q - null else q + null
}

# Numbers of larger groups that are remembered: 16 MB.
MOST_TAILS <- 2e6

# Of the larger group: rates of its Clopper-Pearson interval on the angular scale, and P(X < first +
# t) at them.
larger_group <- local({
  known <- new.env(parent = emptyenv())
  remembered <- 0
  function(k, n) {
    key <- sprintf("%a %a", k, n)
    larger <- known[[key]]
    if (is.null(larger)) {
      larger <- tails_of_group(k, n)
      if (remembered + length(larger$tails) > MOST_TAILS) {
        known <<- new.env(parent = emptyenv())
        remembered <<- 0
      }
      remembered <<- remembered + length(larger$tails)
      assign(key, larger, known)
    }
    larger
  }
})

tails_of_group <- function(k, n) {
  ends <- asin(sqrt(clopper_pearson(k, n, EXACT_GAMMA)))
  points <- max(ceiling(2 * sqrt(n) * diff(ends) / RATE_SPACING), FEWEST_RATES - 1) + 1
  rates <- sin(seq(ends[1L], ends[2L], length.out = points))^2
  reach <- RATE_REACH / sqrt(n)
  first <- floor(n * sin(max(ends[1L] - reach, 0))^2)
  last <- ceiling(n * sin(min(ends[2L] + reach, pi / 2))^2)
  tails <- rbind(0, outer(first:last, rates, function(count, rate) stats::pbinom(count, n, rate)))
  list(n = n, ends = ends, rates = rates, first = first, tails = tails)
}

# The rates that the null hypothesis allows: of the larger group (`rates`, on its own grid or on a
# denser one, `weights` from the former to the latter), of the smaller one (`own`), and the counts of
# the smaller group that are not all but impossible at any of them.
nuisance_rates <- function(larger, few, contrast, null, swap) {
  allowed <- unlist(nuisance_ends(contrast, null), use.names = FALSE)
  if (swap && contrast != "odds_ratio") {
    allowed <- if (contrast == "ratio") allowed * null else allowed + null
  }
  allowed <- asin(sqrt(within_ends(allowed, 0, 1)))
  ends <- larger$ends
  own_at <- function(rates) within_ends(other_rate(rates, contrast, null, swap), 0, 1)
  if (ends[1L] >= allowed[2L] || ends[2L] <= allowed[1L]) {
    rate <- sin(if (ends[1L] >= allowed[2L]) allowed[2L] else allowed[1L])^2
    return(list(rates = rate, own = own_at(rate), counts = 0:few))
  }
  cut <- c(allowed[1L] > ends[1L], allowed[2L] < ends[2L])
  rates <- larger$rates
  weights <- NULL
  inner <- c(max(allowed[1L], ends[1L]), min(allowed[2L], ends[2L]))
  spans <- 2 * sqrt(c(larger$n, few)) * c(diff(inner), abs(diff(asin(sqrt(own_at(sin(inner)^2))))))
  # far from equality the smaller group's rate changes faster than the larger one's
  if (any(cut) || spans[2L] > AS_DENSE * spans[1L]) {
    # powers of two, as in Python, so that the same jumps of p are the largest in both
    points <- max(
      2^ceiling(log2(ceiling(DENSER * max(spans) / RATE_SPACING) + 1)),
      FEWEST_UP_TO_THE_END
    )
    angles <- inner[1L] + diff(inner) * towards_ends(points, cut)
    steps <- (angles - ends[1L]) / diff(ends) * (length(rates) - 1)
    # the tails of the larger group's count are smooth in its rate, also beyond the end
    weights <- interpolation(length(rates), steps)
    rates <- sin(angles)^2
  }
  own <- own_at(rates)
  reach <- RATE_REACH / sqrt(few)
  angles_of_own <- asin(sqrt(range(own)))
  counts <- floor(few * sin(max(angles_of_own[1L] - reach, 0))^2):ceiling(
    few * sin(min(angles_of_own[2L] + reach, pi / 2))^2
  )
  list(rates = rates, own = own, counts = counts, weights = weights)
}

# The largest probability of counts up to `up_to` and from `from` on, over the rates that the null
# hypothesis allows.
largest_probability <- function(larger, nuisance, few, up_to, from) {
  rates <- nuisance$rates
  counts <- nuisance$counts
  if (length(rates) == 1L) {
    inside <- stats::pbinom(up_to, larger$n, rates) +
      stats::pbinom(from - 1, larger$n, rates, lower.tail = FALSE)
    value <- sum(stats::dbinom(counts, few, nuisance$own) * pmin(inside, 1))
    return(list(value = value, rate = rates))
  }
  row <- function(count) within_ends(count - larger$first, 0, nrow(larger$tails) - 1) + 1
  # beside many counts of the smaller group no count is as extreme
  last <- larger$first + nrow(larger$tails) - 2
  counts <- counts[up_to[counts + 1] >= larger$first | from[counts + 1] <= last]
  if (length(counts) == 0L) {
    return(list(value = 0, rate = rates[1L]))
  }
  inside <- larger$tails[row(up_to[counts + 1] + 1), , drop = FALSE]
  if (any(from[counts + 1] <= larger$n)) {
    inside <- inside + 1 - larger$tails[row(from[counts + 1]), , drop = FALSE]
  }
  if (!is.null(nuisance$weights)) {
    inside <- inside %*% nuisance$weights
  }
  chances <- colSums(binomial_masses(counts, few, nuisance$own) * inside)
  best <- vertex(chances %*% refinement(length(rates)))
  list(value = best$value, rate = rates[(best$place - 1) %/% PARTS + 1])
}

# dbinom of every count (rows) at every rate (columns), in a fifth of its time: logarithms are linear
# in the count.
binomial_masses <- function(counts, n, rates) {
  # a rate of 0 leaves the mass with no success
  tiny <- 1e-300
  successes <- log(within_ends(rates, tiny, 1))
  failures <- log(within_ends(1 - rates, tiny, 1))
  exp(lchoose(n, counts) + outer(counts, successes) + outer(n - counts, failures))
}

# Places from 0 to 1 as close to each end that is asked for as a square root needs.
towards_ends <- function(points, cut) {
  even <- seq(0, 1, length.out = points)
  if (all(cut)) {
    return(sin(even * pi / 2)^2)
  }
  if (cut[2L]) {
    return(sin(even * pi / 2))
  }
  if (cut[1L]) 1 - cos(even * pi / 2) else even
}

# Nodes of the polynomial interpolation between rates, and parts into which a step is divided.
STENCIL <- 6
PARTS <- 4

# Matrix of the interpolation of values at 0, ..., points - 1; the weight of node j is the product
# over k != j of (x - k) / (j - k), over the nodes about the place x.
interpolation <- function(points, places) {
  starts <- pmin(pmax(floor(places) - STENCIL / 2 + 1, 0), points - STENCIL)
  nodes <- seq_len(STENCIL) - 1
  apart <- outer(places - starts, nodes, "-")
  weights <- matrix(0, points, length(places))
  for (node in nodes) {
    weight <- 1
    for (other in nodes[-(node + 1)]) {
      weight <- weight * apart[, other + 1]
    }
    weight <- weight / prod(node - nodes[-(node + 1)])
    weights[cbind(starts + node + 1, seq_along(places))] <- weight
  }
  weights
}

refinement <- local({
  kept <- list()
  function(points) {
    key <- paste(points)
    if (is.null(kept[[key]])) {
      kept[[key]] <<- interpolation(
        points,
        seq(0, points - 1, length.out = PARTS * (points - 1) + 1)
      )
    }
    kept[[key]]
  }
})

# Largest value, of the parabola through the largest and its neighbours.
vertex <- function(values) {
  place <- which.max(values)
  best <- values[place]
  if (place > 1 && place < length(values)) {
    bend <- 2 * best - values[place - 1] - values[place + 1]
    if (bend > 0) best <- best + (values[place - 1] - values[place + 1])^2 / (8 * bend)
  }
  list(value = best, place = place)
}

clopper_pearson <- function(k, n, error) {
  c(
    if (k == 0) 0 else stats::qbeta(error / 2, k, n - k + 1),
    if (k == n) 1 else stats::qbeta(1 - error / 2, k + 1, n - k)
  )
}

# Whether the score's error at this level needs an exact test: by the smallest expected cell of the
# pooled rate, more as the level of the adjusted decision falls, less where both groups are of one
# size. As in Python, where the errors are enumerated (fairstats/numerics/rates/switch.py).
needs_exact <- function(n, n0, expected, level) {
  expected < 125 * (0.05 / level)^0.68 * max(0.5, abs(n - n0) / (n + n0))
}

# Fewest successes or failures that the smaller group has on average at the pooled rate.
smallest_expected <- function(cells) {
  pooled <- (cells[1L] + cells[3L]) / (cells[2L] + cells[4L])
  min(cells[2L], cells[4L]) * min(pooled, 1 - pooled)
}

# p-values and one-sided limits of a verdict by exact tests, at the level and the width that the
# score has given.
exact_evidence <- function(cells, contrast, fair, shows) {
  n <- round(cells)
  p <- function(nulls, alternative) {
    exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, nulls, alternative)
  }
  less <- p(fair, "less")
  greater <- p(fair, "greater")
  tail <- function(p) pmin(1, p + stats::pnorm(stats::qnorm(p) - shows$width))
  # p jumps where a table comes to be as extreme: what lies below the range must be shown to lie
  # below its upper end, too
  list(
    p_below = tail(max(less)),
    p_above = tail(max(greater)),
    p_inside = max(tail(greater[1L]), tail(less[2L])),
    limits = exact_limits(evidence_searches(cells, contrast, fair, shows))
  )
}

evidence_searches <- function(cells, contrast, fair, shows) {
  one_sided_searches(round(cells), contrast, fair, stats::pnorm(-shows$critical))
}

# p-value of equal rates by the exact test.
exact_equality <- function(cells, contrast) {
  exact_pvalue(
    cells[1L],
    cells[2L],
    cells[3L],
    cells[4L],
    contrast,
    value_of_equality(contrast),
    "two-sided"
  )
}

# One-sided limits, each with this error; anchors: null values on the side of which each limit lies
# as their own p-values say; `near`: the limits of nearly the same error, from which it is asked only
# how far these lie.
one_sided_searches <- function(cells, contrast, anchors, error, near = NULL) {
  list(
    limit_search(cells, contrast, "greater", -1, error, anchors, near[1L]),
    limit_search(cells, contrast, "less", 1, error, anchors, near[2L])
  )
}

exact_one_sided <- function(cells, contrast, anchors, error, near = NULL) {
  exact_limits(one_sided_searches(cells, contrast, anchors, error, near))
}

# Two-sided interval: what the two-sided exact test does not reject, around the estimate; of
# equality it says what the test says.
interval_searches <- function(cells, contrast, error, near = NULL) {
  equal <- value_of_equality(contrast)
  list(
    limit_search(cells, contrast, "two-sided", -1, error, equal, near[1L]),
    limit_search(cells, contrast, "two-sided", 1, error, equal, near[2L])
  )
}

exact_interval <- function(k0, n0, k1, n1, contrast, level = 0.95) {
  exact_limits(interval_searches(c(k0, n0, k1, n1), contrast, 1 - level))
}

# Limits by exact tests are sought on multiples of it: steps of log theta, or of 2 atanh of a
# difference.
LIMIT_STEP <- 2^-14
# Limits beyond exp(60) are none.
LIMIT_SPAN <- 60
# Exact limits lie beyond those of the score, in standard errors; jumps of p keep a secant from its
# root.
BEYOND_SCORE <- 0.12
FIRST_DOUBT <- 0.18
OFF_BY_JUMPS <- 0.01
# So few steps are asked all at once; so many jumps at a time, from this share of what p falls by
# within a bracket.
FEW_STEPS <- 4
MOST_JUMPS <- 4
LARGE_JUMP <- 0.1
# A limit that is sought near another one is known within this share of the distance between them.
NEAR_ENOUGH <- 0.25
# Less is no jump: so rare tables may be passed over at one of two null values.
LEAST_JUMP <- 1e-11

# Limits of several searches, all of one contrast: what they ask at each step is answered at once.
exact_limits <- function(searches) {
  open <- Filter(function(search) is.null(search$limit), searches)
  while (length(open)) {
    find_answers(lapply(open, function(search) {
      list(memory = search$memory, nulls = search$asked(), alternative = search$alternative)
    }))
    for (search in open) {
      search$advance()
    }
    open <- Filter(function(search) is.null(search$limit), open)
  }
  vapply(searches, `[[`, 0, "limit")
}

# The limit on a side (1: upper) that lies between a null value that the test keeps and one that it
# rejects. p jumps at null values where another table comes to be as extreme as the observed one,
# and is smooth between them. So the limit is bracketed by secants on qnorm(p); then both sides of
# the largest jumps within the bracket are asked, then the root between two of them; a bracket that
# does not halve is divided by eighths. All over multiples of LIMIT_STEP. Where p goes back and
# forth over the error there are several limits: the anchors decide (null values beyond which the
# limit lies where they are kept, and within which it lies where they are rejected), then the
# outermost one that shows.
# `near`: the limit of an error that is nearly this one, where only the distance from it is asked
# for. The search then begins beside it, ends when the distance is known within a quarter, and gives
# the end of the bracket that is nearer to it, so that the distance is never made larger.
# What comes back is a step of the search: `asked()`, the null values whose answers it waits for, and
# `advance()`, to be called when they are known, until there is a `limit`.
limit_search <- function(table, contrast, alternative, side, error, anchors, near = NULL) {
  memory <- exact_memory(table, contrast)
  search <- new.env(parent = emptyenv())
  search$memory <- memory
  search$alternative <- alternative
  search$limit <- NULL
  anchors <- unique(anchors)
  key <- paste(c(alternative, side, sprintf("%a", c(error, anchors))), collapse = " ")
  if (is.null(near)) {
    search$limit <- memory$limits[[key]]
  }
  if (!is.null(search$limit)) {
    return(search)
  }
  end_with <- function(limit) {
    search$limit <- limit
    if (is.null(near)) {
      assign(key, limit, memory$limits)
    }
  }
  ratio <- contrast != "difference"
  outermost <- if (ratio) (if (side > 0) Inf else 0) else side
  if (is_unlimited(table, contrast, side)) {
    end_with(outermost)
    return(search)
  }
  to <- if (ratio) log else function(x) 2 * atanh(pmax(-1 + 1e-15, pmin(1 - 1e-15, x)))
  back <- if (ratio) exp else function(x) tanh(x / 2)
  null_at <- function(x) {
    exactly <- match(x, to(anchors))
    ifelse(is.na(exactly), back(x), anchors[exactly])
  }
  two_sided <- alternative == "two-sided"
  estimate <- estimate_on_scale(table, contrast, to)
  about <- about_limit(table, contrast, side, error, two_sided, estimate, to, back)
  s <- about$error
  # a two-sided test keeps the estimate and rejects again on its other side, where nothing is looked
  # for
  innermost <- -LIMIT_SPAN / LIMIT_STEP
  if (two_sided && is.finite(estimate)) {
    innermost <- ceiling(side * estimate / LIMIT_STEP)
  }

  # points: places outwards on the scale of the search, and the probit of p less that of the error,
  # which falls outwards
  probit <- function(p) stats::qnorm(pmin(pmax(p, 1e-12), 1 - 1e-6))
  points_at <- function(x) {
    p <- p_of(exact_answers(table, contrast, null_at(side * x), alternative))
    excess <- probit(p) - probit(error)
    list(place = x, excess = ifelse(p < error, pmin(excess, -1e-15), pmax(excess, 0)))
  }
  pair_about <- function(root, doubt) {
    low <- max(round((root - doubt) / LIMIT_STEP), innermost)
    c(low, max(round((root + doubt) / LIMIT_STEP), low + 1))
  }
  places <- pair_about(side * about$start + BEYOND_SCORE * s, FIRST_DOUBT * s)
  origin <- if (is.null(near)) NaN else side * to(near)
  if (is.finite(origin)) {
    # the search of `near` ended between these two, whose p is remembered
    beside <- floor(origin / LIMIT_STEP) + 0:1
    about_origin <- points_at(beside * LIMIT_STEP)
    outwards <- s * mean(about_origin$excess)
    places <- c(beside, pair_about(origin + outwards, 0.5 * abs(outwards)))
    places <- pmax(sort(unique(places)), innermost)
  }
  bracketed_by_anchors <- FALSE
  inner <- NULL
  outer <- NULL
  stride <- s
  width <- Inf
  slow <- 0
  # the first places are asked together with the anchors
  search$asked <- function() {
    asked <- side * places * LIMIT_STEP
    null_at(if (bracketed_by_anchors) asked else c(to(anchors), asked))
  }
  search$advance <- function() {
    if (!bracketed_by_anchors) {
      from <- if (two_sided) side * estimate else -Inf
      bracket <- bracket_of_anchors(points_at(side * to(anchors)), from)
      inner <<- bracket$inner
      outer <<- bracket$outer
      bracketed_by_anchors <<- TRUE
    }
    points <- points_at(places * LIMIT_STEP)
    narrow(points)
    if (is.null(inner) || is.null(outer)) {
      go_beyond(points)
    } else {
      go_within()
    }
    places <<- sort(unique(places))
    if (is.null(search$limit) && min(abs(places)) * LIMIT_STEP >= LIMIT_SPAN) {
      end_with(outermost)
    }
  }
  narrow <- function(points) {
    within <- (if (is.null(inner)) TRUE else points$place > inner$place) &
      (if (is.null(outer)) TRUE else points$place < outer$place)
    for (row in rev(which(rep_len(within, length(places))))) {
      if (points$excess[row] >= 0) {
        inner <<- point_of(points, row)
        break
      }
      outer <<- point_of(points, row)
    }
  }
  go_within <- function() {
    first <- floor(inner$place / LIMIT_STEP) + 1
    last <- ceiling(outer$place / LIMIT_STEP) - 1
    if (first > last) {
      return(end_with(back(side * (inner$place + outer$place) / 2)))
    }
    from_origin <- c(inner$place, outer$place) - origin
    if (is.finite(origin) && prod(sign(from_origin)) > 0) {
      nearest <- which.min(abs(from_origin))
      if (abs(diff(from_origin)) <= NEAR_ENOUGH * abs(from_origin[nearest])) {
        return(end_with(back(side * (origin + from_origin[nearest]))))
      }
    }
    slow <<- if (outer$place - inner$place > 0.5 * width) slow + 1 else 0
    width <<- outer$place - inner$place
    if (last - first < FEW_STEPS) {
      asked <- first:last
    } else if (slow > 1) {
      asked <- first + floor((last - first) * 1:7 / 8)
    } else {
      jumps <- NULL
      if (width < 0.5 * s) {
        ends <- null_at(side * c(inner$place, outer$place))
        jumps <- side * jumps_of_p(table, contrast, alternative, ends, to, back)
      }
      asked <- if (length(jumps)) {
        c(floor(jumps / LIMIT_STEP), floor(jumps / LIMIT_STEP) + 1)
      } else {
        share <- inner$excess / max(inner$excess - outer$excess, 1e-300)
        root <- inner$place + min(max(share, 0.02), 0.98) * width
        doubt <- max(0.5 * LIMIT_STEP, 0.1 * width * min(width / s, 1))
        c(floor((root - doubt) / LIMIT_STEP), ceiling((root + doubt) / LIMIT_STEP))
      }
    }
    places <<- pmin(pmax(asked, first), last)
  }
  go_beyond <- function(points) {
    nearest <- point_of(points, which.min(abs(points$excess)))
    slope <- -1 / s
    if (length(points$place) > 1) {
      secant <- diff(range_of_ends(points$excess)) / diff(range_of_ends(points$place))
      slope <- min(max(secant, -4 / s), -0.25 / s)
    }
    ahead <- -nearest$excess / slope
    asked <- pair_about(nearest$place + ahead, 0.2 * abs(ahead) + OFF_BY_JUMPS * s)
    if (!is.null(inner)) {
      # what lies within an anchor that is kept says nothing: p may go back and forth over the
      # error there
      first <- floor(inner$place / LIMIT_STEP) + 1
      asked[2L] <- max(asked[2L], floor((inner$place + stride) / LIMIT_STEP), first)
      asked <- pmax(asked, first)
    } else if (!is.null(outer)) {
      last <- ceiling(outer$place / LIMIT_STEP) - 1
      if (last < innermost) {
        return(end_with(back(side * outer$place)))
      }
      asked[1L] <- min(asked[1L], ceiling((outer$place - stride) / LIMIT_STEP), last)
      asked <- pmin(asked, last)
    }
    stride <<- 2 * stride
    places <<- pmax(asked, innermost)
  }
  search
}

point_of <- function(points, row) list(place = points$place[row], excess = points$excess[row])

range_of_ends <- function(x) x[c(1L, length(x))]

# Whether no count shows that the contrast is not at this end of its range.
is_unlimited <- function(table, contrast, side) {
  k <- table[c(1L, 3L)]
  if (contrast == "ratio") {
    return(k[if (side > 0) 2L else 1L] == 0)
  }
  if (contrast == "odds_ratio") {
    failures <- table[c(2L, 4L)] - k
    return(if (side > 0) k[2L] == 0 || failures[1L] == 0 else k[1L] == 0 || failures[2L] == 0)
  }
  all(k == if (side > 0) c(table[2L], 0) else c(0, table[4L]))
}

# The contrast of the observed rates on the scale of the search: infinite at an end of a ratio's
# range.
estimate_on_scale <- function(table, contrast, to) {
  if (contrast == "difference") {
    return(to(table[1L] / table[2L] - table[3L] / table[4L]))
  }
  odds <- contrast == "odds_ratio"
  above <- table[1L] * (table[4L] - if (odds) table[3L] else 0)
  below <- table[3L] * (table[2L] - if (odds) table[1L] else 0)
  if (above == 0 || below == 0) {
    return(if (above > 0) Inf else -Inf)
  }
  log(above / below)
}

# About where a limit lies, and a standard error, on the scale of the search: by the score, else by
# Wald.
about_limit <- function(table, contrast, side, error, two_sided, estimate, to, back) {
  critical <- stats::qnorm(if (two_sided) error / 2 else error, lower.tail = FALSE)
  about <- wald_on_scale(table[1L], table[2L], table[3L], table[4L], contrast)
  s <- about$error
  wald <- list(start = about$centre + side * critical * s, error = s)
  if (critical <= 0.5 || contrast == "odds_ratio") {
    return(wald)
  }
  excess <- function(x) {
    critical + side * score_z(table[1L], table[2L], table[3L], table[4L], contrast, back(x), FALSE)
  }
  inner <- if (is.finite(estimate)) estimate else wald$start - side * (critical + 0.5) * s
  outer <- wald$start + side * (0.5 + 0.5 * critical) * s
  ends <- c(excess(inner), excess(outer))
  if (!all(is.finite(ends)) || ends[1L] <= 0 || ends[2L] >= 0) {
    return(wald)
  }
  start <- falsi(excess, inner, ends[1L], outer, ends[2L], 0.01 * s)
  if (is.finite(estimate)) {
    s <- max(abs(start - estimate) / critical, 0.3 * s)
  }
  list(start = start, error = s)
}

# The outermost null value that is kept and the innermost one that is rejected; a two-sided test may
# reject on the other side of the estimate, too. Where they contradict, the limit lies between them.
bracket_of_anchors <- function(points, estimate) {
  kept <- which(points$excess >= 0)
  rejected <- which(points$excess < 0 & points$place > estimate)
  inner <- if (length(kept)) point_of(points, kept[which.max(points$place[kept])])
  outer <- if (length(rejected)) point_of(points, rejected[which.min(points$place[rejected])])
  if (!is.null(inner) && !is.null(outer) && inner$place > outer$place) {
    places <- c(inner$place, outer$place)
    inner$place <- places[2L]
    outer$place <- places[1L]
  }
  list(inner = inner, outer = outer)
}

# Roots of functions that are all but lines, by secants that keep the bracket (Illinois): many at
# once.
falsi <- function(f, low, at_low, high, at_high, step) {
  x <- low
  for (pass in 1:12) {
    before <- x
    x <- low - at_low * (high - low) / (at_high - at_low)
    if (all(abs(x - before) < step)) {
      break
    }
    here <- f(x)
    if (all(here == 0)) {
      break
    }
    on_low <- here * at_low > 0
    at_high <- ifelse(on_low, at_high / 2, here)
    at_low <- ifelse(on_low, here, at_low / 2)
    high <- ifelse(on_low, high, x)
    low <- ifelse(on_low, x, low)
  }
  x
}

# The largest jumps of p between two null values, on the scale of the search: where a table that is
# as extreme at one of them only has the statistic of the observed one.
jumps_of_p <- function(table, contrast, alternative, nulls, to, back) {
  answers <- exact_answers(table, contrast, nulls, alternative)
  if (is.null(answers[[1L]]$swap) || is.null(answers[[2L]]$swap)) {
    return(NULL)
  }
  swap <- answers[[1L]]$swap
  if (swap != answers[[2L]]$swap) {
    return(NULL)
  }
  least <- max(LARGE_JUMP * abs(answers[[1L]]$p - answers[[2L]]$p), LEAST_JUMP)
  tables <- tables_that_differ(answers[[1L]], answers[[2L]], table, contrast, least)
  if (length(tables$chance) == 0) {
    return(NULL)
  }
  largest <- order(tables$chance, tables$few, tables$many, decreasing = TRUE)
  largest <- largest[seq_len(min(length(largest), MOST_JUMPS))]
  tables <- lapply(tables, `[`, largest)
  group <- if (swap) tables$many else tables$few
  reference <- if (swap) tables$few else tables$many
  gap <- function(x) {
    observed <- rep(table[c(1L, 3L)], each = length(x))
    nulls <- rep(back(x), 2)
    z <- score_z(
      c(group, observed[seq_along(x)]),
      table[2L],
      c(reference, observed[-seq_along(x)]),
      table[4L],
      contrast,
      nulls,
      FALSE
    )
    if (alternative == "two-sided") {
      z <- abs(z)
    }
    z[seq_along(x)] - z[-seq_along(x)]
  }
  ends <- to(nulls)
  at_low <- gap(rep(ends[1L], length(group)))
  at_high <- gap(rep(ends[2L], length(group)))
  crosses <- which(is.finite(at_low) & is.finite(at_high) & at_low * at_high < 0)
  if (length(crosses) == 0) {
    return(NULL)
  }
  group <- group[crosses]
  reference <- reference[crosses]
  low <- rep(ends[1L], length(crosses))
  falsi(gap, low, at_low[crosses], rep(ends[2L], length(crosses)), at_high[crosses], LIMIT_STEP / 8)
}

# Tables in the region of one answer only, with their probability at the rate where that of the
# first one is largest.
tables_that_differ <- function(one, other, table, contrast, least) {
  sizes <- if (one$swap) table[c(4L, 2L)] else table[c(2L, 4L)]
  own <- other_rate(one$rate, contrast, one$null, one$swap)
  if (own <= 0 || own >= 1) {
    return(NULL)
  }
  chances <- stats::dbinom(0:sizes[1L], sizes[1L], own)
  tables <- NULL
  for (part in c("from", "up_to")) {
    here <- one[[part]]
    there <- other[[part]]
    rows <- which(here != there & chances > least)
    if (length(rows) == 0) {
      next
    }
    # counts from `from` on, counts up to `up_to`
    start <- pmin(here, there)[rows] + (part == "up_to")
    stop <- pmax(here, there)[rows] + (part == "up_to")
    few <- rep(rows - 1, each = MOST_JUMPS)
    many <- rep(start, each = MOST_JUMPS) + seq_len(MOST_JUMPS) - 1
    chance <- chances[few + 1] * stats::dbinom(many, sizes[2L], one$rate)
    keep <- many < rep(stop, each = MOST_JUMPS) & chance > least
    tables <- list(
      few = c(tables$few, few[keep]),
      many = c(tables$many, many[keep]),
      chance = c(tables$chance, chance[keep])
    )
  }
  tables
}
