#!/usr/bin/env bash
# Makes the site of docs/ in build/site, the API reference under api/. A link that leads nowhere is
# an error. Exit 69: the generator can't be had here.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/venv-docs
scripts/venv.sh docs/requirements.txt "$venv"

# Pages lie in the repository where readers of the repository look for them; on the site they lie in
# one folder. Links follow them; a link to a file that is no page shows its path instead.
pages=build/docs/pages
rm -rf build/docs build/site
mkdir -p "$pages"
cp docs/*.md "$pages"
cp README.md "$pages/index.md"
cp CONTRIBUTING.md "$pages/contributing.md"
cp CHANGELOG.md "$pages/changelog.md"
cp SECURITY.md "$pages/security.md"
cp src/lazydp/README.md "$pages/source.md"
sed -i -E -e 's#\]\((\.\./)?docs/#](#g' \
  -e 's#\]\((\.\./)?CONTRIBUTING\.md#](contributing.md#g' -e 's#\]\((\.\./)?CHANGELOG\.md#](changelog.md#g' \
  -e 's#\]\((\.\./)?SECURITY\.md#](security.md#g' -e 's#\]\((\.\./)?src/lazydp/README\.md#](source.md#g' \
  -e 's#\]\((\.\./)?README\.md#](index.md#g' \
  -e 's#\[([^]]*)\]\(\.\./(examples|tests|src|python|benchmarks)/[^)]*\)#\1#g' "$pages"/*.md
# Doxygen includes the example in its page; here it is text.
awk '/^\\include embed.cc$/ { print "~~~cpp"; while ((getline line < "examples/embed/embed.cc") > 0) print line; print "~~~"; next } { print }' \
  docs/api.md >"$pages/api.md"

# In the order in which one reads them; a page that nobody listed comes at the end.
first=(index guide tutorial-pytorch migrating-from-opacus data privacy auditing utility performance paper reliability scaling algorithms api
  adding-an-algorithm formats architecture source contributing releasing security changelog)
{
  cat docs/mkdocs.yml
  echo "docs_dir: pages"
  echo "site_dir: ../site"
  echo "nav:"
  mapfile -t there < <(cd "$pages" && ls -- *.md | sed 's/\.md$//')
  listed=" "
  for page in "${first[@]}" "${there[@]}"; do
    if [[ ! -f $pages/$page.md || $listed == *" $page "* ]]; then continue; fi
    listed+="$page "
    echo "  - $page.md"
  done
} >build/docs/mkdocs.yml
"$venv/bin/mkdocs" --quiet build --config-file build/docs/mkdocs.yml
if command -v doxygen >/dev/null; then
  scripts/api_reference.sh build/docs/api
  mv build/docs/api/html build/site/reference
fi
echo "build/site/index.html"
