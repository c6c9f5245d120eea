#!/usr/bin/env bash
# Checks that includes under src/ go only leftward in the pipeline of folders, and that what one
# folder alone may know (SIMD, GEMM, OpenMP, MPI) is included there alone.
# Usage: include_direction.sh [PROJECT ROOT]. Names file:line and the rule; exit 1 if any is broken.
set -euo pipefail
cd "${1:-"$(dirname "$0")/../.."}"

find src -type f \( -name '*.cc' -o -name '*.h' \) -print0 | sort -z | xargs -0 -r awk '
  BEGIN {
    count = split("base kernels random embedding data model clip noise privacy shard train export checkpoint release audit engine report bench cli", order)
    for (i = 1; i <= count; ++i) place[order[i]] = i
    place["python"] = place["report"]
    split("report bench cli", shell)
    for (i in shell) {
      forbidden[shell[i], "engine"] = shell[i] " may not include engine"
      forbidden[shell[i], "python"] = shell[i] " may not include python"
    }
    forbidden["noise", "clip"] = "clip and noise never include each other"
    forbidden["noise", "model"] = forbidden["noise", "data"] = "noise includes neither model nor data"
  }
  FNR == 1 {
    file = FILENAME
    sub(/^src\/lazydp\//, "", file)
    folder = file
    sub(/\/.*/, "", folder)
    if (!(folder in place)) broken("a folder that is not in the pipeline: " folder)
  }
  function broken(rule) {
    printf "%s:%d: %s\n", FILENAME, FNR, rule
    failed = 1
  }
  function only(header, where, allowed) {
    if (!allowed) broken(header " is included only in " where)
  }
  # Returns what a #include names, or the twin that Highway includes once more for each target.
  function included(line) {
    if (line !~ /^[ \t]*#[ \t]*(include|define[ \t]+HWY_TARGET_INCLUDE)[ \t]*["<]/) return ""
    sub(/^[^"<]*/, "", line)
    return match(line, /^("[^"]*"|<[^>]*>)/) ? substr(line, 1, RLENGTH) : ""
  }
  {
    header = included($0)
    if (header == "") next
    name = substr(header, 2, length(header) - 2)
    if (name == "omp.h") only(name, "base/parallel.cc", file == "base/parallel.cc")
    if (name == "mpi.h") only(name, "shard/mpi_ranks.cc", file == "shard/mpi_ranks.cc")
    if (name ~ /^(cblas.h|oneapi\/)/) only(name, "model/sgemm.cc", file == "model/sgemm.cc")
    if (name ~ /^([a-z0-9]*intrin|arm_neon)\.h$/)
      only(name, "kernels and base/parallel.cc", folder == "kernels" || file == "base/parallel.cc")

    if (name !~ /^lazydp\//) {
      if (header ~ /^"/) broken("our headers are included as \"lazydp/<folder>/<file>\", others in <>")
      next
    }
    if (header ~ /^</) broken("our headers are included in quotes, not in <>")
    split(name, part, "/")
    to = part[2]
    if (to == folder) next
    if (!(to in place)) broken("no such folder in the pipeline: " to)
    else if (place[to] >= place[folder]) broken("includes go only leftward: " folder " may not include " to)
    else if ((folder, to) in forbidden) broken(forbidden[folder, to])
    else if (folder == "privacy" && to != "base") broken("privacy includes only base")
  }
  END { exit failed }
'
