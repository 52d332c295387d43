# R in a process of its own, asked by files where rpy2 is missing. Arguments: session.R, a folder, the version of
# fairstats, the folder of its R code, library paths. Each line on standard input is a question: question.rds holds the function's name,
# its arguments and the seed; answer.rds then holds what session.R's `call` returned, and a line on standard output says so.
given <- commandArgs(TRUE)
folder <- given[2L]
session <- eval(parse(given[1L], encoding = "UTF-8"), baseenv())
home <- session$load(given[3L], given[4L], given[-(1:4)])

# What Python has a counterpart for: vectors and lists with names, dimensions and levels. What else there is keeps its
# class only, and Python says that it has no counterpart.
plain <- function(value) {
  if (is.null(value)) {
    return(NULL)
  }
  kept <- attributes(value)[c("names", "dim", "levels")]
  kept <- kept[!vapply(kept, is.null, NA)]
  known <- c("logical", "integer", "double", "character", "list")
  if (!typeof(value) %in% known) {
    stop("R returned a value of type ", typeof(value), ", which has no counterpart in Python")
  }
  if (is.list(value)) {
    value <- lapply(unclass(value), plain)
  }
  if (is.character(value)) {
    value <- enc2utf8(value)
  }
  attributes(value) <- NULL
  attributes(value) <- kept
  value
}

questions <- file("stdin", "r")
repeat {
  if (!length(readLines(questions, 1L))) {
    break
  }
  asked <- readRDS(file.path(folder, "question.rds"))
  answer <- session$call(home, asked[[1L]], asked[[2L]], asked[[3L]])
  answer <- tryCatch(plain(answer), error = function(e) {
    list("error", c(conditionMessage(e), ""), list())
  })
  saveRDS(answer, file.path(folder, "answer.rds"), version = 2L, compress = FALSE)
  cat("\nfairstats-answer\n")
  flush(stdout())
}
