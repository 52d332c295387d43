# Prints what R itself says of its version, home, library paths (the user's profile included), packages and
# environment. Arguments: the mark that begins each line, then names of packages.
mark <- commandArgs(TRUE)[1]
say <- function(...) cat(mark, paste(c(...), collapse = "\t"), "\n", sep = "")
say("version", as.character(getRversion()))
say("home", R.home())
for (path in .libPaths()) {
  say("library", path)
}
for (name in commandArgs(TRUE)[-1]) {
  say(
    "package",
    name,
    tryCatch(as.character(utils::packageVersion(name)), error = function(e) "")
  )
}
for (name in names(Sys.getenv())) {
  say("variable", name, paste(charToRaw(Sys.getenv(name)), collapse = ""))
}
say("end", "")
