#!/bin/sh
# Builds the site into site/, strictly. Links to other sites are not followed: a build must not need the network.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
export NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true
.venv/bin/mkdocs build --quiet --strict --clean
[ -s site/sample-report.html ] && [ -s site/checks.html ] || { echo "generated pages are missing" >&2; exit 1; }
# Fragments and files that pages name must be there; mkdocs checks Markdown links, this also what raw HTML names.
.venv/bin/python - <<'PY'
import html.parser, pathlib, sys, urllib.parse
site = pathlib.Path("site")
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.names = [], set()
    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        self.names.add(said.get("id"))
        self.links += [said[key] for key in ("href", "src") if said.get(key)]
pages = {}
for path in site.rglob("*.html"):
    pages[path] = Page()
    pages[path].feed(path.read_text("utf-8"))
broken = []
for path, page in pages.items():
    if path.name == "404.html":
        continue
    for link in page.links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = path if not parts.path else (path.parent / urllib.parse.unquote(parts.path)).resolve().relative_to(site.resolve().parent)
        if not target.exists():
            broken.append(f"{path}: {link}: no such file")
        elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].names:
            broken.append(f"{path}: {link}: no such place")
print("\n".join(broken) or f"{len(pages)} pages, {sum(len(p.links) for p in pages.values())} links")
sys.exit(bool(broken))
PY
