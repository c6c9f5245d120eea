# The tools of a build; source it from the project's root. A machine may have several cmakes, and
# some may be too old or be shims that don't start: the first that works and is new enough is taken.

# works TOOL MINIMUM: prints the first TOOL in PATH whose version is at least MINIMUM.
works() {
  local tool version
  while read -r tool; do
    version=$("$tool" --version 2>/dev/null | grep -m1 -oE '[0-9]+(\.[0-9]+)+') || continue
    if printf '%s\n' "$2" "$version" | sort -C -V; then
      echo "$tool"
      return
    fi
  done < <(type -aP "$1")
  return 1
}
find_cmake() { works cmake 3.25; }
find_ninja() { works ninja 1.10; }

# configure_tree FOLDER CMAKE ARGUMENTS…: one that was made elsewhere (a moved or copied checkout) is
# begun anew.
configure_tree() {
  local fresh=()
  if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$1/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  "$(find_cmake)" "${@:2}" "${fresh[@]}" -D "CMAKE_MAKE_PROGRAM=$(find_ninja)" >/dev/null
}
configure_preset() { configure_tree "build/$1" --preset "$1"; }

# The version and the public headers are each written in one place; these read them.
project_version() { sed -nE 's/^project\(LazyDP VERSION ([0-9.]+).*/\1/p' CMakeLists.txt; }
public_headers() { # below src/lazydp, sorted
  sed -n '/^set(public_headers/,/)/p' src/lazydp/engine/CMakeLists.txt | grep -oE '[a-z_]+/[a-z_]+\.h' | sort
}

# The clang tools by their versioned names: two versions format the same line differently.
clang_format=clang-format-14
clang_tidy=clang-tidy-14

# The cores this process may use; CMake passes the number on to the build.
cores=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL=$cores
