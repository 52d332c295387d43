# Writes evt_threshold_tests.json: score tests of Northrop and Coleman by mev's NC.diag, and likelihood ratios of white noise
# by its .norm_LRT (Wadsworth). Its files R/NCdiag.R, R/Wdiag.R and R/gp.R (https://github.com/lbelzile/mev, version
# 2.2.0001) are read from the folder MEV: these functions need nothing of the rest of the package.
suppressMessages(library(jsonlite))
for (file in c("gp.R", "NCdiag.R", "Wdiag.R")) {
  source(file.path(Sys.getenv("MEV"), file))
}
set.seed(31)
cases <- list()
for (s in c(0.2, -0.2, 0.0001)) {
  x <- signif((runif(400)^-s - 1) / s, 10)
  if (s == -0.2) {
    x <- signif(abs(rnorm(400)), 10)
  }
  u <- signif(unname(quantile(x, c(0, 0.3, 0.5, 0.7, 0.85))), 6)
  found <- NC.diag(x, u, GP.fit = "Grimshaw", plot = FALSE)
  cases[[length(cases) + 1]] <- list(
    x = x,
    u = u,
    statistic = found$e.test.stats,
    pvalue = found$e.p.values,
    shape = found$xi.mle,
    scale = found$sigma.mle
  )
}
noise <- signif(rnorm(9), 10)
white <- list(noise = noise, change = .norm_LRT(noise, seq_along(noise))[, 2])
write(
  toJSON(list(mev = "2.2.0001", white = white, cases = cases), digits = NA, auto_unbox = TRUE),
  "evt_threshold_tests.json"
)
