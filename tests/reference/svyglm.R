# Logistic regressions of the label on the logit of the score by survey::svyglm, with weights and with
# clusters: estimates and standard errors of intercept and slope. The rows are made by formulas.
#
#   Rscript tests/reference/svyglm.R > tests/reference/svyglm.json

suppressPackageStartupMessages(library(survey))
i <- 0:119
s <- 0.05 + 0.9 * ((i * 37) %% 101) / 101
y <- as.numeric(((i * 53) %% 97) / 97 < s)
w <- 0.5 + ((i * 29) %% 23) / 10
u <- i %/% 4
rows <- data.frame(s, y, w, u)
of <- function(ids, model) {
  design <- svydesign(ids = ids, weights = ~w, data = rows)
  fit <- svyglm(model, design, family = quasibinomial(), control = list(epsilon = 1e-14))
  k <- length(coef(fit))
  sprintf("[%.15g, %.15g]", coef(fit)[[k]], sqrt(diag(vcov(fit)))[[k]])
}
slope <- y ~ qlogis(s)
intercept <- y ~ offset(qlogis(s))
cat(sprintf(
  '{"survey": "%s",\n "slope": {"rows": %s, "clusters": %s},\n "intercept": {"rows": %s, "clusters": %s}}\n',
  packageVersion("survey"),
  of(~1, slope),
  of(~u, slope),
  of(~1, intercept),
  of(~u, intercept)
))
