# Two labels, three groups, weights and clusters.
people <- function(n = 240, seed = 7) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  cluster <- rep(seq_len(n / 6), each = 6)
  group <- sample(c("blue", "green", "red"), n, TRUE, c(0.5, 0.3, 0.2))
  y_true <- rbinom(n, 1, 0.5)
  y_pred <- rbinom(n, 1, plogis(-0.5 + y_true + rnorm(n / 6)[cluster] + (group == "blue")))
  data.frame(group, y_true, y_pred, weight = rgamma(n, 3, 2), cluster)
}
