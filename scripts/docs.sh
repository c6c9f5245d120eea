#!/usr/bin/env bash
# Makes the site of docs/ in build/site, the API reference under reference/. A link that leads nowhere
# and a page that is in no group are errors. Exit 69: the generator can't be had here.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/venv-docs
scripts/venv.sh docs/requirements.txt "$venv"

# Pages lie in the repository where readers of the repository look for them; on the site they lie below
# one folder.
pages=build/docs
rm -rf "$pages" build/site
mkdir -p "$pages"
cp -r docs/*.md docs/measurements docs/pictures docs/site.css "$pages"
cp README.md "$pages/index.md"
cp CONTRIBUTING.md "$pages/contributing.md"
cp CHANGELOG.md "$pages/changelog.md"
cp SECURITY.md "$pages/security.md"
cp src/lazydp/README.md "$pages/source.md"
cp python/README.md "$pages/python.md"

# Doxygen includes the example in its page; here it is text.
awk '/^\\include embed.cc$/ { print "~~~cpp"; while ((getline line < "examples/embed/embed.cc") > 0) print line; print "~~~"; next } { print }' \
  docs/api.md >"$pages/api.md"

# Links follow the pages; a link to a file that is no page shows its path instead. A picture in two
# colours follows the site's switch, not the system's.
find "$pages" -name '*.md' -exec sed -i -E \
  -e 's#(\]\(|src="|srcset=")(\.\./)*docs/#\1#g' \
  -e 's#\]\((\.\./)*src/lazydp/README\.md#](source.md#g' -e 's#\]\((\.\./)*python/README\.md#](python.md#g' \
  -e 's#\]\((\.\./)?CONTRIBUTING\.md#](contributing.md#g' -e 's#\]\((\.\./)?CHANGELOG\.md#](changelog.md#g' \
  -e 's#\]\((\.\./)?SECURITY\.md#](security.md#g' \
  -e 's#\[([^]]*)\]\((\.\./)*(examples|tests|src|python|benchmarks|scripts)/[^)]*\)#\1#g' \
  -e '/^<\/?picture>$/d' -e '/^ *<source /d' \
  -e 's#^ *<img alt="([^"]*)" src="([^"]*)-light\.svg">$#![\1](\2-light.svg\#only-light)\n![\1](\2-dark.svg\#only-dark)#' {} +
sed -i -E 's#\]\(\.\./README\.md#](index.md#g' "$pages"/*.md

reference=
if command -v doxygen >/dev/null; then reference=$PWD/build/api-reference; fi
if [[ -n $reference ]]; then
  printf '\n<a href="reference/index.html">Every class and function</a>, from the comments of the headers.\n' >>"$pages/api.md"
fi
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" --quiet build --config-file docs/mkdocs.yml
if [[ -n $reference ]]; then
  rm -rf "$reference"
  scripts/api_reference.sh "$reference"
  mv "$reference/html" build/site/reference
fi
echo "build/site/index.html"
