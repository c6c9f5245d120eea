# Reads slips.txt for run.sh and check.sh; source it from the project's root. A slip is a patch; each row of
# slips.txt that begins with its name says one way in which it is caught. A row is known by
# name@number, counted from 1 for each name.

slips_dir=tests/planted

# read_slips: fills slips[] with rows, and program[row], filter[row].
declare -a slips=()
declare -A program=() filter=()
read_slips() {
  local name row in_program tests
  local -A count=()
  while IFS='|' read -r name in_program tests; do
    read -r name <<<"$name" # trims
    if [[ -z $name || $name == \#* ]]; then continue; fi
    count[$name]=$((${count[$name]:-0} + 1))
    row=$name@${count[$name]}
    slips+=("$row")
    read -r "program[$row]" <<<"$in_program"
    read -r "filter[$row]" <<<"$tests"
  done <"$slips_dir/slips.txt"
}

patch_of() { echo "$slips_dir/${1%@*}.patch"; }

# git_apply ROW OPTIONS…: in no repository but ours, whatever lies around it: in a subfolder of a
# repository git apply skips every file without a word.
git_apply() {
  GIT_CEILING_DIRECTORIES=$(dirname "$PWD") git apply --whitespace=nowarn "${@:2}" "$(patch_of "$1")"
}

# in_python ROW: whether pytest runs its tests; their filter is then pytest's arguments.
in_python() { [[ ${program[$1]} == pytest ]]; }

# tests_of FOLDER ROW: the names of the tests that its filter selects, in the programs under FOLDER;
# of Python, the files.
find_program() { find "$1" -type f -name "${program[$2]}" -perm -u+x -print -quit; }
tests_of() {
  if in_python "$2"; then
    local file=${filter[$2]%% *}
    grep -l "^def test_" "tests/python/$file"
    return
  fi
  "$(find_program "$1" "$2")" --gtest_list_tests --gtest_filter="${filter[$2]}" | grep '^  ' | grep -v DISABLED_
}
