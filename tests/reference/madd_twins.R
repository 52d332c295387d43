# Writes madd_twins.json: what the base-R twins of MADD answer, for tests where R is missing.
#
#   Rscript tests/reference/madd_twins.R        (from the root of the project)

CODE_FOLDER <- "r/R"
for (file in c(list.files("r/R", full.names = TRUE), "r/reference/json.R")) {
  sys.source(file, envir = globalenv())
}

set.seed(20240718, "Mersenne-Twister", "Inversion", "Rejection")
continuous <- list(
  score = c(rbeta(150, 2, 4), rbeta(100, 4, 2)),
  group = rep(c("a", "b"), c(150, 100))
)
leaves <- c(0, 0.2, 0.4, 0.5, 0.6, 1)
tied <- list(
  score = c(
    sample(leaves, 80, TRUE, c(3, 3, 2, 2, 1, 1)),
    sample(leaves, 60, TRUE, c(1, 1, 2, 2, 3, 3))
  ),
  group = rep(c("a", "b"), c(80, 60))
)

answers <- function(data) {
  side <- split(data$score, data$group)
  n <- lengths(side)
  curve <- fs_madd_curve(side$a, side$b, 150)
  weight <- 1 + (seq_along(data$score) %% 3)
  weights <- split(weight, data$group)
  pooled <- tabulate(findInterval(data$score, (0:12) / 12, rightmost.closed = TRUE), 12)
  new <- c(0, 0.001, 0.2, 0.35, 0.5, 0.501, 0.77, 0.999, 1)
  list(
    score = I(data$score),
    group = I(data$group),
    weight = I(weight),
    madd_12 = madd(side$a, side$b, 12),
    contributions_12 = I(madd_contributions(side$a, side$b, 12)),
    weighted_12 = madd(side$a, side$b, 12, weights$a, weights$b),
    curve = I(curve$madd),
    stable = fs_stable_bandwidth(curve$bandwidth, curve$madd, n[["a"]], n[["b"]]),
    null_mean_12 = fs_madd_null_mean(pooled, n[["a"]], n[["b"]]),
    new_score = I(new),
    mapped = lapply(setNames(nm = c("a", "b")), function(g) {
      lapply(setNames(c(0.25, 0.97, 1), c("0.25", "0.97", "1")), function(lambda) {
        I(fs_madd_map(data$score, data$group, lambda, new, rep(g, length(new))))
      })
    })
  )
}

write_json(
  list(
    about = "made by tests/reference/madd_twins.R",
    versions = package_versions(character()),
    continuous = answers(continuous),
    tied = answers(tied)
  ),
  "tests/reference/madd_twins.json"
)
