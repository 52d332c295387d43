# What Python does in R. Both functions are made in R's base environment: the user's own c, list or eval are not
# found from there.
list(
  # The environment where the project's R code lives: the installed package of this version, or what is in the
  # folder. A seed is there from the start: R cannot make one where the user locks the global environment.
  load = function(version, folder, libraries) {
    if (length(libraries)) {
      .libPaths(libraries)
    }
    global <- globalenv()
    fresh <- !exists(".Random.seed", global, inherits = FALSE)
    if (fresh) {
      tryCatch(set.seed(NULL), error = function(e) NULL)
    }
    if (!nzchar(folder) || grepl("_r", basename(dirname(folder)), fixed = TRUE)) {
      there <- tryCatch(as.character(utils::packageVersion("fairstats")), error = function(e) "")
      if (identical(there, version)) return(asNamespace("fairstats"))
    }
    home <- new.env(parent = asNamespace("stats"))
    home$CODE_FOLDER <- folder
    for (file in sort(list.files(folder, "[.]R$", full.names = TRUE))) {
      sys.source(file, envir = home, keep.source = FALSE)
    }
    home
  },
  # Evaluates name(args) with R's seed set, and its options as they are in a fresh R. Seed, kinds of generators
  # and options are put back; conditions come back as values. A locked seed is unlocked for the call.
  call = function(home, name, args, seed) {
    global <- globalenv()
    before <- options(
      scipen = 0,
      digits = 7L,
      OutDec = ".",
      warn = 0L,
      error = NULL,
      na.action = "na.omit",
      contrasts = c(unordered = "contr.treatment", ordered = "contr.poly"),
      digits.secs = NULL
    )
    kept <- get0(".Random.seed", global, inherits = FALSE)
    locked <- !is.null(kept) && bindingIsLocked(".Random.seed", global)
    if (locked) {
      unlockBinding(".Random.seed", global)
    }
    kinds <- RNGkind()
    seeded <- tryCatch(
      {
        set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
        TRUE
      },
      error = function(e) FALSE
    )
    on.exit({
      if (seeded) {
        suppressWarnings(RNGkind(kinds[1L], kinds[2L], kinds[3L]))
        if (!is.null(kept)) {
          assign(".Random.seed", kept, global)
        } else {
          suppressWarnings(rm(".Random.seed", envir = global))
        }
      }
      if (locked) {
        lockBinding(".Random.seed", global)
      }
      options(before)
    })
    frame <- new.env(parent = home)
    symbols <- sprintf("arg%d", seq_along(args))
    for (i in seq_along(args)) {
      assign(symbols[i], args[[i]], frame)
    }
    symbols <- lapply(symbols, as.name)
    names(symbols) <- names(args)
    code <- as.call(c(str2lang(name), symbols))
    where <- function(condition) {
      call <- conditionCall(condition)
      if (is.null(call)) {
        return("")
      }
      if (identical(call, quote(eval(code, frame)))) {
        call <- code
      }
      deparse(call, 120L, nlines = 1L)[1L]
    }
    what <- function(condition) {
      said <- conditionMessage(condition)
      if (seeded || !grepl("locked", said)) {
        return(said)
      }
      why <- "the global environment of R is locked and holds no seed, so R cannot draw random numbers"
      paste0(said, ": ", why)
    }
    warned <- list()
    value <- tryCatch(
      withCallingHandlers(
        list("value", eval(code, frame)),
        warning = function(w) {
          warned[[length(warned) + 1L]] <<- c(conditionMessage(w), where(w))
          tryInvokeRestart("muffleWarning")
        }
      ),
      error = function(e) list("error", c(what(e), where(e))),
      interrupt = function(e) list("interrupt", NULL)
    )
    c(value, list(warned))
  }
)
