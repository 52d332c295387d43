# Limits at every look: against what the mixtures integrate, and against their own inversion.

people <- data.frame(
  hired = rep(c(1, 0, 1, 0), c(120, 280, 210, 190)),
  origin = rep(c("south", "north"), each = 400)
)

test_that("limits are the score at the critical value of the mixture", {
  found <- fs_disparate_impact(
    people,
    "hired",
    "origin",
    reference = "north",
    method = "anytime",
    planned = 1000
  )
  tau <- 8 * 800 / 1000
  critical <- sqrt((1 + 1 / tau) * log((1 + tau) / 0.05^2))
  z <- score_z(120, 400, 210, 400, "ratio", c(found$ci_low, found$ci_high))
  expect_equal(abs(z), rep(critical, 2), tolerance = 1e-8)
  z <- score_z(120, 400, 210, 400, "ratio", 1)
  expect_equal(found$pvalue, sqrt(1 + tau) * exp(-z^2 * tau / (2 * (1 + tau))), tolerance = 1e-8)
})

test_that("one success beside one failure has exact limits in closed form", {
  # the mixture is 1/4, the largest likelihood at the difference d is ((1 + d) / 2)^2
  expect_equal(
    anytime_limits(c(1, 1, 0, 1), "difference", 1, 0.95),
    c(sqrt(0.05) - 1, 1),
    tolerance = 1e-12
  )
})

test_that("the mixture of counts is Jeffreys's, by quadrature", {
  mixture <- function(k, n) {
    stats::integrate(
      function(a) sin(a)^(2 * k) * cos(a)^(2 * (n - k)),
      0,
      pi / 2,
      rel.tol = 1e-10
    )$value /
      (pi / 2)
  }
  at <- constrained_rates(3, 20, 9, 30, "ratio", 0.8)
  likelihood <- at$p0^3 * (1 - at$p0)^17 * at$p1^9 * (1 - at$p1)^21
  expect_equal(
    anytime_log_e(c(3, 20, 9, 30), "ratio", 0.8),
    log(mixture(3, 20) * mixture(9, 30) / likelihood),
    tolerance = 1e-8
  )
})

test_that("nothing is said before five successes and failures, and it counts in the family", {
  few <- rbind(people, data.frame(hired = rep(c(1, 0), c(3, 90)), origin = "east"))
  found <- fs_disparate_impact(
    few,
    "hired",
    "origin",
    reference = "north",
    method = "anytime",
    planned = 1000
  )
  east <- found[found$group == "east", ]
  south <- found[found$group == "south", ]
  expect_equal(east$verdict, "insufficient evidence")
  expect_true(is.nan(east$pvalue_adjusted))
  expect_equal(south$pvalue_adjusted, 2 * south$pvalue, tolerance = 1e-12)
})

test_that("what does not hold at every look is refused", {
  ask <- function(...) fs_disparate_impact(people, "hired", "origin", method = "anytime", ...)
  expect_error(ask(reference = "north"), "planned")
  expect_error(ask(planned = 1000, reference = "highest"), "reference")
  expect_error(ask(planned = 1000, reference = "north", adjust = "fdr_bh"), "adjust")
  expect_error(ask(planned = 1000, reference = "north", simultaneous = "max-z"), "simultaneous")
  expect_error(fs_disparate_impact(people, "hired", "origin", planned = 1000), "planned")
})
