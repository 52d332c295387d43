# What an audit claims as a whole: which differences are real, and which verdicts hold, over
# everything it looked at. Rows keep the family of their metric; beside it stands the family of the
# audit, of facts that count once each: ratio, difference and gap of the same two rates are one
# fact, and so are a rate and its complement, and one rate that stands in two metrics. Holm's
# procedure over the facts keeps the probability of any false claim at most the error when all is
# fair (Holm 1979, Scandinavian Journal of Statistics 6, 65-70).

CLAIM_COLUMNS <- c("pvalue_audit", "real_over_audit", "pvalue_verdict_audit", "holds_over_audit")
# Claims that are named in the sentence.
MOST_CLAIMS <- 6L
# What stands before the colon of the title of a result that compares no rates.
CLAIM_TITLES <- c(
  madd = "MADD",
  madd_max = "MADD",
  ECD = "Extreme counterfactual discrimination",
  mean = "Means",
  mean_absolute_error = "Mean absolute errors",
  mean_residual = "Mean residuals, prediction less outcome"
)
WITHIN_STRATA <- "_stratified"
UNADJUSTED_WARNING <- paste(
  "Reading unadjusted p-values one by one errs in more than half of fair audits",
  "(.54 to .66 of them have some p-value below .05)."
)

# What a rate and its complement share: the cases, and how they are divided.
same_question <- function(name) {
  rate <- registry("rates")[[name]]
  successes <- unlist(rate$successes)
  if (!length(successes)) {
    return(name)
  }
  cases <- unlist(rate$cases)
  text <- function(cells) paste(sort(cells), collapse = "+")
  parts <- sort(c(text(successes), text(setdiff(cases, successes))))
  paste(text(cases), paste(parts, collapse = " | "), sep = ": ")
}

# Rates that a metric of the registry compares; none for distances, areas and changes.
rates_of_metric <- function(name) unlist(registry("metrics")[[name]]$rates)

# What a row is about: its groups, and the question that is asked of them.
fact_of <- function(row) {
  metric <- row$metric
  within <- endsWith(metric, WITHIN_STRATA)
  rates <- rates_of_metric(sub(paste0(WITHIN_STRATA, "$"), "", metric))
  pair <- paste(sort(as_text(c(row$group, row$reference))), collapse = " and ")
  known <- length(rates) > 0L && all(rates %in% names(registry("rates")))
  single <- known && length(rates) == 1L
  several <- !is.null(row$n_differences) && isTRUE(row$n_differences > 1)
  only <- !is.null(row$n_differences) && isTRUE(row$n_differences == 1)
  about <- if (within && single) {
    c("within strata", same_question(rates), pair)
  } else if (within) {
    c(metric, pair)
  } else if (known && several) {
    c("largest gap", sort(vapply(rates, same_question, "")))
  } else if (known && only) {
    c(same_question(row$attained_by), pair)
  } else if (single) {
    c(same_question(rates), pair)
  } else {
    c(metric, pair)
  }
  paste(c(row$sensitive_features, about), collapse = "\r")
}

# Holm's adjusted p-values over facts: each p-value in the place of its fact, which has its smallest
# one. A p-value that is missing does not count.
over_facts <- function(fact, pvalue) {
  known <- !is.na(pvalue)
  adjusted <- rep(NaN, length(pvalue))
  if (!any(known)) {
    return(adjusted)
  }
  first <- unique(fact[known])
  smallest <- vapply(first, function(f) min(pvalue[known & fact == f]), 0)
  in_order <- order(smallest)
  count <- length(first)
  steps <- (count - seq_len(count) + 1) * smallest[in_order]
  # the largest of the steps before each fact
  before <- c(0, cummax(steps))
  rank <- match(fact[known], first[in_order])
  adjusted[known] <- pmin(pmax((count - rank + 1) * pvalue[known], before[rank]), 1)
  adjusted
}

# p-values of equality and of the verdicts over the facts of the audit. Equality is one question,
# whatever the scale: the rows of a fact share one answer, that of their largest p-value. `outside`:
# whether a row is shown to be outside the fair range.
pvalues_over_audit <- function(fact, pvalue, pvalue_verdict, outside) {
  known <- !is.na(pvalue)
  largest <- vapply(split(pvalue[known], factor(fact[known], unique(fact[known]))), max, 0)
  answers <- over_facts(names(largest), unname(largest))
  equality <- rep(NaN, length(pvalue))
  equality[known] <- answers[match(fact[known], names(largest))]
  verdict <- over_facts(fact, pvalue_verdict)
  # who is shown to lie outside the fair range is shown to differ, over the audit as well
  outside <- which(outside & known & !is.na(pvalue_verdict))
  verdict[outside] <- pmax(verdict[outside], equality[outside])
  list(equality = equality, verdict = verdict)
}

# The table with what every row says over the whole audit, and the sentence of it as the attribute
# "claims".
with_claims <- function(table, confidence_level) {
  error <- 1 - confidence_level
  verdict_p <- if (is.null(table$pvalue_verdict)) rep(NaN, nrow(table)) else table$pvalue_verdict
  fact <- vapply(seq_len(nrow(table)), function(at) fact_of(as.list(table[at, ])), "")
  adjusted <- pvalues_over_audit(fact, table$pvalue, verdict_p, table$verdict %in% "violated")
  table$pvalue_audit <- adjusted$equality
  table$real_over_audit <- adjusted$equality <= error
  table$pvalue_verdict_audit <- adjusted$verdict
  decided <- table$verdict %in% c("violated", "satisfied")
  table$holds_over_audit <- ifelse(decided, adjusted$verdict <= error, NA)
  random <- claim_errors(table, fact, adjusted, verdict_p)
  table[names(random)] <- random
  attr(table, "claims") <- claims_sentence(table, fact, confidence_level)
  table$n_differences <- NULL
  table
}

# Monte Carlo errors of what `pvalues_over_audit` says: each p-value moved by five of its own, and
# what moves then.
claim_errors <- function(table, fact, adjusted, verdict_p) {
  error_of <- function(name) {
    if (is.null(table[[name]])) 0 else ifelse(is.na(table[[name]]), 0, table[[name]])
  }
  of_p <- error_of("mc_pvalue")
  of_verdict <- error_of("mc_pvalue_verdict")
  if (!any(of_p > 0) && !any(of_verdict > 0)) {
    return(list())
  }
  moved <- function(by) {
    pvalues_over_audit(
      fact,
      within_unit(table$pvalue + by * of_p),
      within_unit(verdict_p + by * of_verdict),
      table$verdict %in% "violated"
    )
  }
  up <- moved(5)
  down <- moved(-5)
  apart <- function(name) {
    pmax(abs(up[[name]] - adjusted[[name]]), abs(down[[name]] - adjusted[[name]])) / 5
  }
  list(mc_pvalue_audit = apart("equality"), mc_pvalue_verdict_audit = apart("verdict"))
}

within_unit <- function(p) pmin(pmax(p, 0), 1)

# Which findings hold over the audit, which for their metric alone; NULL where nothing is tested.
claims_sentence <- function(table, fact, confidence_level) {
  tested <- !is.na(table$pvalue_audit)
  if (!any(tested) && all(is.na(table$pvalue_verdict_audit))) {
    return(NULL)
  }
  many <- length(unique(fact[tested]))
  real <- length(unique(fact[tested & table$real_over_audit %in% TRUE]))
  violated <- which(table$verdict %in% "violated" & !is.na(table$holds_over_audit))
  said <- lapply(violated, function(at) claim_of(table[at, ]))
  key <- vapply(said, `[[`, "", "key")
  holds <- table$holds_over_audit[violated]
  text <- vapply(said, `[[`, "", "text")
  holding <- text[holds][!duplicated(key[holds])]
  others <- !holds & !key %in% key[holds]
  alone <- text[others][!duplicated(key[others])]
  found <- if (!real) {
    "no difference is real"
  } else {
    paste(real, if (real == 1L) "difference is" else "differences are", "real")
  }
  parts <- paste0(
    "Over the whole audit (",
    many,
    " fact",
    if (many != 1L) "s",
    ", Holm, error ",
    sprintf("%.3g%%", 100 * (1 - confidence_level)),
    ") ",
    found
  )
  if (length(holding)) {
    parts <- c(parts, paste("these violations hold:", named_claims(holding)))
  }
  if (length(alone)) {
    parts <- c(parts, paste("these hold for their metric alone:", named_claims(alone)))
  }
  if (!length(said)) {
    parts <- c(parts, "no violation is claimed")
  }
  paste0(paste(parts, collapse = "; "), ". ", UNADJUSTED_WARNING)
}

# A finding in words, and what tells it from others: title and pair, whichever group stands first,
# for of two groups the gap says once more what the difference says.
claim_of <- function(row) {
  title <- claim_title(row$metric, isTRUE(row$n_differences > 1))
  groups <- as_text(c(row$group, row$reference))
  who <- if (nzchar(groups[2L])) paste(groups[1L], "against", groups[2L]) else groups[1L]
  list(key = paste(c(title, sort(groups)), collapse = "\r"), text = paste0(title, ", ", who))
}

# What stands before the colon of the title of a metric of rates, or else of the result.
claim_title <- function(metric, several) {
  name <- sub(paste0(WITHIN_STRATA, "$"), "", metric)
  label <- if (grepl("[", name, fixed = TRUE)) sub("]$", "", sub("^[^[]*\\[", "", name))
  title <- title_of_metric(sub("\\[.*", "", name))
  if (!is.null(label) && !is.null(title)) {
    return(paste0(sub(":.*", "", title), " (", label, ")"))
  }
  if (is.null(title)) {
    title <- if (name %in% names(CLAIM_TITLES)) CLAIM_TITLES[[name]] else name
    return(if (name == metric) title else paste0(title, ", within strata"))
  }
  title <- sub(":.*", "", title)
  if (name != metric) {
    return(paste(title, "within strata"))
  }
  if (several) paste(title, "(largest gap)") else title
}

# The title of a metric of the registry, or of a rate with an ending; NULL of others.
title_of_metric <- function(name) {
  title <- registry("metrics")[[name]]$title
  rate <- sub("_(difference|ratio)$", "", name)
  if (!is.null(title) || is.null(registry("rates")[[rate]])) {
    return(title)
  }
  words <- registry("rates")[[rate]]$title
  paste0(
    toupper(substr(words, 1L, 1L)),
    substring(words, 2L),
    ": ",
    sub("^.*_", "", name),
    " between groups"
  )
}

named_claims <- function(said) {
  shown <- utils::head(said, MOST_CLAIMS)
  more <- length(said) - length(shown)
  paste0(paste(shown, collapse = "; "), if (more) paste("; and", more, "more"))
}
