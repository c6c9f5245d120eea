# What run.sh and check.sh share; source it from the project's root. A slip is a row of slips.txt
# and a patch of that name.

slips_dir=tests/planted

# read_slips: fills slips[] with names, and program[name], filter[name].
declare -a slips=()
declare -A program=() filter=()
read_slips() {
  local name in_program tests
  while IFS='|' read -r name in_program tests; do
    read -r name <<<"$name" # trims
    if [[ -z $name || $name == \#* ]]; then continue; fi
    slips+=("$name")
    read -r "program[$name]" <<<"$in_program"
    read -r "filter[$name]" <<<"$tests"
  done <"$slips_dir/slips.txt"
}

# git_apply SLIP OPTIONS…: in no repository but ours, whatever lies around it: in a subfolder of a
# repository git apply skips every file without a word.
git_apply() {
  GIT_CEILING_DIRECTORIES=$(dirname "$PWD") git apply --whitespace=nowarn "${@:2}" "$slips_dir/$1.patch"
}

# tests_of FOLDER SLIP: the names of the tests that its filter selects, in the programs under FOLDER.
find_program() { find "$1" -type f -name "${program[$2]}" -perm -u+x -print -quit; }
tests_of() {
  "$(find_program "$1" "$2")" --gtest_list_tests --gtest_filter="${filter[$2]}" | grep '^  ' | grep -v DISABLED_
}
