# AUC and its DeLong variance by pROC, a witness written by others: Robin et al. (2011), BMC Bioinformatics 12, 77.
proc_auc <- function(y, score) {
  curve <- pROC::roc(y, score, direction = "<", quiet = TRUE)
  list(auc = as.numeric(pROC::auc(curve)), variance = pROC::var(curve, method = "delong"))
}

# Two models on the same rows: both AUCs, DeLong's test and interval of their difference, interval of the first.
proc_change <- function(y, before, after) {
  a <- pROC::roc(y, before, direction = "<", levels = c(0, 1), quiet = TRUE)
  b <- pROC::roc(y, after, direction = "<", levels = c(0, 1), quiet = TRUE)
  d <- pROC::roc.test(b, a, method = "delong", paired = TRUE)
  own <- as.numeric(pROC::ci.auc(a))[c(1L, 3L)]
  unname(c(pROC::auc(a), pROC::auc(b), d$statistic, d$p.value, d$conf.int, own))
}

invisible(NULL)
