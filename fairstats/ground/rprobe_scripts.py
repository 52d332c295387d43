"""The two scripts of `rprobe`: one for Rscript, one for a Python of its own. Nothing is run on import."""

from __future__ import annotations

__all__ = ["ASK", "TRY"]

#: Prints what R itself says of its version, home, library paths (the user's profile included), packages and
#: environment. Arguments: the mark that begins each line, then names of packages.
ASK = r"""
mark <- commandArgs(TRUE)[1]
say <- function(...) cat(mark, paste(c(...), collapse = "\t"), "\n", sep = "")
say("version", as.character(getRversion()))
say("home", R.home())
for (path in .libPaths()) say("library", path)
for (name in commandArgs(TRUE)[-1]) say(
  "package", name, tryCatch(as.character(utils::packageVersion(name)), error = function(e) "")
)
for (name in names(Sys.getenv())) say("variable", name, paste(charToRaw(Sys.getenv(name)), collapse = ""))
say("end", "")
"""

#: Tries R through rpy2. While R answers `ASK`, rpy2 is imported; then R is started within this process. rpy2
#: would ask R twice by itself: it is given the answers.
TRY = r"""
import json, os, subprocess, sys
path, packages, ask, mark = map(json.loads, sys.argv[1:])
sys.path[:] = path
home = os.environ.get("R_HOME")
rscript = os.path.join(home, "bin", "Rscript") if home else "Rscript"
out = {"rpy2": "", "variables": {}, "packages": {}, "libraries": []}
try:
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    asked = subprocess.Popen([rscript, "-e", ask, mark, *packages], **quiet)
except OSError:
    asked = None

def answer(*args, **kwargs):
    known = out["variables"]
    return tuple((k, v) for k, v in known.items() if os.environ.get(k) != v)

def read():
    if asked is None:
        return False
    lines = os.fsdecode(asked.communicate()[0]).splitlines()
    lines = [line[len(mark):].split("\t") for line in lines if line.startswith(mark)]
    for kind, *said in lines:
        if kind in ("version", "home"):
            out[kind] = said[0]
        elif kind == "library":
            out["libraries"].append(said[0])
        elif kind == "package":
            out["packages"][said[0]] = said[1]
        elif kind == "variable":
            out["variables"][said[0]] = os.fsdecode(bytes.fromhex(said[1]))
    return bool(lines) and lines[-1][0] == "end"

try:
    from importlib.metadata import version
    out["rpy2"] = version("rpy2-rinterface")
except Exception:
    pass
try:
    if asked is not None:
        try:
            import rpy2.situation as situation
            situation.r_ld_library_path_from_subprocess = lambda home: ""
        except ImportError:
            pass
    import rpy2.rinterface as ri
    from rpy2.rinterface_lib import embedded
    complete = read()
    if complete:
        ri._getrenvvars = answer
    embedded.set_initoptions(("rpy2", "--quiet", "--no-save", "--no-restore", "--no-init-file"))
    ri.initr()
    if not complete:
        ask = "c(as.character(getRversion()), R.home(), .libPaths())"
        out["version"], out["home"], *out["libraries"] = ri.evalr(ask)
        look = 'function(p) tryCatch(as.character(utils::packageVersion(p)), error = function(e) "")'
        look = ri.evalr(look)
        out["packages"] = {p: look(ri.StrSexpVector([p]))[0] for p in packages}
        out["variables"] = {}
except BaseException as error:
    out["error"] = "%s: %s" % (type(error).__name__, error)
sys.stdout.write("\n" + mark + json.dumps(out) + "\n")
sys.stdout.flush()
os._exit(0)
"""
