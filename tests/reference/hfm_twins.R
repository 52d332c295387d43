# Writes hfm_twins.json: what the base-R twins of HFM answer, for tests where R is missing.
#
#   Rscript tests/reference/hfm_twins.R        (from the root of the project)

CODE_FOLDER <- "r/R"
for (file in c(list.files("r/R", full.names = TRUE), "r/reference/json.R")) {
  sys.source(file, envir = globalenv())
}

set.seed(20240718, "Mersenne-Twister", "Inversion", "Rejection")
normal <- matrix(round(rnorm(80 * 4), 6), 80)
binary <- matrix(sample(0:1, 60 * 9, TRUE), 60)
offset <- matrix(1e8 + round(rnorm(50 * 3), 6), 50)

answers <- function(x, w) {
  n <- nrow(x)
  in_group <- sample(c(TRUE, FALSE), n, TRUE)
  y_true <- sample(0:1, n, TRUE)
  y_pred <- ifelse(runif(n) < 0.8, y_true, 1 - y_true)
  a <- x[in_group, , drop = FALSE]
  b <- x[!in_group, , drop = FALSE]
  list(
    x = I(as.numeric(x)),
    n_columns = ncol(x),
    in_group = I(as.integer(in_group)),
    y_true = I(y_true),
    y_pred = I(y_pred),
    max = fs_set_distance(a, b),
    mean = fs_set_distance(a, b, "mean")$value,
    q90 = fs_set_distance(a, b, 0.9)$value,
    w = I(w),
    accele_3 = fs_approx_set_distance(a, b, w, 3),
    hfm = hfm(x, y_true, y_pred, in_group)[1:3],
    hfm_mean = hfm(x, y_true, y_pred, in_group, statistic = "mean")[1:3]
  )
}

# Ten rows: every permutation (210) and every exchange (of five rows, 32).
tests_of <- function() {
  x <- matrix(round(rnorm(20), 6), 10)
  in_group <- rep(c(TRUE, FALSE), c(4, 6))
  y_true <- rep(0:1, 5)
  wrong <- c(1, 4, 7, 9, 10)
  y_pred <- replace(y_true, wrong, 1 - y_true[wrong])
  one <- function(statistic) {
    found <- hfm_tests(x, y_true, y_pred, in_group, statistic = statistic)
    c(
      found[c("d", "d_f", "p_d", "p_d_f", "hfm", "p_hfm")],
      list(
        permutations = found$n_resamples[["d"]],
        exchanges = found$n_resamples[["hfm"]]
      )
    )
  }
  list(
    x = I(as.numeric(x)),
    n_columns = 2L,
    in_group = I(as.integer(in_group)),
    y_true = I(y_true),
    y_pred = I(y_pred),
    max = one("max"),
    mean = one("mean")
  )
}

# 40 rows of 15 persons, three draws each.
risk_of <- function() {
  changed <- matrix(runif(120) < 0.3, 3)
  person <- sample(15, 40, TRUE)
  list(
    changed = I(as.integer(changed)),
    n_draws = 3L,
    person = I(person),
    first_draw = discriminative_risk(changed[1, ]),
    by_draws = discriminative_risk(changed),
    by_person = discriminative_risk(changed, person),
    first_draw_90 = discriminative_risk(changed[1, ], level = 0.9)
  )
}

write_json(
  list(
    about = "made by tests/reference/hfm_twins.R",
    versions = package_versions(character()),
    normal = answers(normal, c(0.4, -0.3, 0.2, -0.1)),
    binary = answers(binary, c(0.02, 0.18, -0.05, 0.15, 0.11, -0.09, 0.2, -0.13, 0.07)),
    offset = answers(offset, c(0.5, 0.3, -0.2)),
    tests = tests_of(),
    risk = risk_of()
  ),
  "tests/reference/hfm_twins.json"
)
