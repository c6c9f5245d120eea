#!/usr/bin/env bash
# Checks house rules that a compiler doesn't know: which folders print, which file knows OpenMP, that
# nothing is left to do, and that no file has grown past its one idea.
# Usage: source_rules.sh [PROJECT ROOT]. Names file:line and the rule; exit 1 if any is broken.
set -euo pipefail
cd "${1:-"$(dirname "$0")/../.."}"

folders=(src)
if [[ -d tests ]]; then folders+=(tests); fi
find "${folders[@]}" -type f \( -name '*.cc' -o -name '*.h' \) -print0 | sort -z | xargs -0 -r awk '
  function broken(line, rule) {
    printf "%s:%d: %s\n", file, line, rule
    failed = 1
  }
  function end_of_file() {
    if (in_src && lines > 300) broken(lines, "a file has at most 300 lines: find the second idea in it")
  }
  FNR == 1 {
    end_of_file()
    file = FILENAME
    in_src = file ~ /^src\//
    may_print = file ~ /^src\/lazydp\/(cli|report|python)\//
  }
  {
    lines = FNR
    if ($0 ~ /TODO|FIXME/) broken(FNR, "nothing is left to do in main")
    if (!in_src) next
    code = " " $0 " "
    sub(/\/\/.*/, " ", code)
    if (!may_print && (code ~ /[^A-Za-z0-9_](cout|cerr|clog)[^A-Za-z0-9_]/ || code ~ /<(iostream|print)>/ ||
                       code ~ /[^A-Za-z0-9_](printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror)[ \t]*\(/))
      broken(FNR, "only cli, report and python print")
    if (code ~ /#[ \t]*pragma[ \t]+omp|[^A-Za-z0-9_]omp_[a-z_]+[ \t]*\(/ && file != "src/lazydp/base/parallel.cc")
      broken(FNR, "only base/parallel.cc knows OpenMP")
  }
  END {
    end_of_file()
    exit failed
  }
'
