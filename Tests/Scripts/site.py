"""Makes the documentation site from the repository's own Markdown.

Every page is one HTML file that needs no server and no other host. Links between documents point to their
pages; links to other files of the repository become text. The index of the search is in a script, so that the
search works from file://. A broken link makes the build fail. The output of an earlier `make library-docs` is
copied and linked; it needs a server.
"""

import html
import json
import os
import pathlib
import re
import shutil
import sys

from markdown_it import MarkdownIt

PAGES = [
    ("Start", [
        ("README.md", "Cospool"), ("Client/INSTALLING.md", "Installing"), ("Client/TOUR.md", "Ten minutes"),
        ("Client/FAQ.md", "Questions"),
        ("CHANGELOG.md", "Changelog"),
    ]),
    ("Use", [
        ("Client/COMMANDS.md", "The command line"), ("Client/PAGE.md", "The page"),
        ("Client/SyncDaemon/HOOKING-UP.md", "Hooking up agents"),
        ("Client/SyncDaemon/RUNNING.md", "Running messages"),
        ("Server/OPERATIONS.md", "Running a server"),
        ("Server/PushDelivery/SETTING-UP.md", "Setting up pushes"),
        ("Server/PushDelivery/PRIVACY.md", "What leaves the machine"),
    ]),
    ("Build on it", [
        ("Client/SyncClient/README.md", "The library"),
        ("Client/SyncDaemon/README.md", "The local API"),
        ("Sources/MergeHarness/README.md", "Simulated conflicts"),
        ("Client/SyncCommand/README.md", "The command line (code)"), ("Tests/README.md", "Tests"),
    ]),
    ("How it works", [
        ("Protocol/MERGING.md", "How merging works"), ("ARCHITECTURE.md", "Architecture"),
        ("Protocol/SPECIFICATION.md", "The protocol"), ("Sources/QueueModel/README.md", "The model"),
        ("Sources/SequenceCRDT/README.md", "Sequences"), ("Protocol/THREAT-MODEL.md", "The threat model"),
        ("Tests/SECURITY.md", "Security findings"),
        ("Tests/Benchmarks/RESULTS.md", "Figures"),
    ]),
]
STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:16rem minmax(0,1fr)}
nav{padding:1rem;border-right:1px solid #8884;height:100vh;overflow:auto;position:sticky;top:0;box-sizing:border-box}
nav h2{font-size:.8rem;margin:1rem 0 .2rem;opacity:.7}nav a{display:block;padding:.15rem 0}
main{padding:1rem 2rem 4rem;max-width:54rem}a{color:light-dark(#0550ae,#79b8ff)}
pre{overflow:auto;padding:.7rem;background:#8881;border-radius:4px}code{font:.9em ui-monospace,monospace}
table{border-collapse:collapse;display:block;overflow:auto}td,th{border:1px solid #8884;padding:.25rem .5rem;text-align:left}
img{max-width:100%}input{width:100%;box-sizing:border-box;font:inherit;padding:.3rem}#found p{margin:.3rem 0;font-size:.9rem}
[aria-current]{font-weight:600}
@media(max-width:50rem){body{display:block}nav{height:auto;position:static;border:0}main{padding:1rem}}
"""
SEARCH = """
const box=document.getElementById('search'),found=document.getElementById('found');
box.addEventListener('input',()=>{
  const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);found.textContent='';
  if(!words.length)return;
  const hits=INDEX.map(s=>({s,n:words.reduce((n,w)=>n<0?n:(s.x.includes(w)?n+(s.t.toLowerCase().includes(w)?9:1):-1),0)}))
    .filter(h=>h.n>0).sort((a,b)=>b.n-a.n).slice(0,12);
  for(const {s} of hits){const p=document.createElement('p'),a=document.createElement('a');
    a.href=s.u;a.textContent=s.p+': '+s.t;p.append(a);found.append(p);}
  if(!hits.length)found.textContent='Nothing found.';
});
"""


def slug(text):
    return re.sub(r"[^a-z0-9 -]", "", text.lower()).strip().replace(" ", "-")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    target = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = {source: "index.html" if source == "README.md" else
             slug(source.removesuffix(".md").replace("/", "-")) + ".html"
             for _, pages in PAGES for source, _ in pages}
    reader = MarkdownIt("commonmark").enable("table")
    index, anchors, links = [], {}, []
    bodies = {}
    for _, pages in PAGES:
        for source, title in pages:
            tokens = reader.parse((root / source).read_text(encoding="utf-8"))
            folder = (root / source).parent
            anchors[source] = set()
            section = {"t": title, "u": names[source], "p": title, "x": ""}
            sections = [section]
            for number, token in enumerate(tokens):
                if token.type == "heading_open":
                    text = tokens[number + 1].content
                    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", text)
                    name = slug(plain)
                    token.attrSet("id", name)
                    anchors[source].add(name)
                    section = {"t": plain, "u": f"{names[source]}#{name}", "p": title, "x": ""}
                    sections.append(section)
                if token.type in ("inline", "fence", "code_block"):
                    section["x"] += " " + token.content.lower()
                for child in token.children or []:
                    relink(child, source, folder, root, target, names, links)
            index += [s | {"x": re.sub(r"\s+", " ", s["t"].lower() + s["x"])} for s in sections if s["x"]]
            bodies[source] = reader.renderer.render(tokens, reader.options, {})
    wrong = [f"{source}: {link}" for source, other, anchor, link in links
             if anchor and anchor not in anchors[other]]
    if wrong:
        sys.exit("site: links that lead nowhere:\n" + "\n".join(wrong))
    (target / "search.js").write_text(
        "const INDEX=" + json.dumps(index, ensure_ascii=False).replace("</", "<\\/") + ";" + SEARCH,
        encoding="utf-8")
    (target / "style.css").write_text(STYLE, encoding="utf-8")
    modules = library(root, target)
    for _, pages in PAGES:
        for source, title in pages:
            text = page(source, title, bodies[source], names, modules)
            (target / names[source]).write_text(text, encoding="utf-8")
    print(f"{len(names)} pages, {len(index)} sections to search: {target / 'index.html'}")


def library(root, target):
    """The modules that `make library-docs` has documented; their pages are copied beside the others."""
    folder = root / os.environ.get("DOCS_DIR", ".build/library-docs")
    modules = sorted(found.name for found in folder.glob("*") if (found / "documentation").is_dir())
    for module in modules:
        shutil.copytree(folder / module, target / module)
    return modules


def relink(token, source, folder, root, target, names, links):
    """Points a link to a page, copies a picture, and turns a link to another file into text."""
    attribute = {"link_open": "href", "image": "src"}.get(token.type)
    if attribute is None:
        return
    link = token.attrGet(attribute)
    if "://" in link or link.startswith("mailto:"):
        return
    path, _, anchor = link.partition("#")
    file = (folder / path).resolve() if path else root / source
    if not file.exists():
        sys.exit(f"site: {source} links to {link}, which is not there")
    other = str(file.relative_to(root))
    if token.type == "image":
        copy = target / "pictures" / other.replace("/", "-")
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(file, copy)
        token.attrSet("src", f"pictures/{copy.name}")
    elif other in names:
        token.attrSet("href", names[other] + ("#" + anchor if anchor else ""))
        links.append((source, other, anchor, link))
    else:
        # A file of the repository that is not a page.
        token.attrs = {"title": other}


def page(source, title, body, names, modules):
    menu = ""
    for group, pages in PAGES:
        menu += f"<h2>{html.escape(group)}</h2>"
        for other, name in pages:
            current = ' aria-current="page"' if other == source else ""
            menu += f'<a href="{names[other]}"{current}>{html.escape(name)}</a>'
    if modules:
        # DocC's pages request their data under the root of their host.
        menu += "<h2>Symbols, where a server serves this folder</h2>"
        menu += "".join(f'<a href="/{m}/documentation/{m.lower()}/">{m}</a>' for m in modules)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)} – Cospool</title>"
        '<link rel="stylesheet" href="style.css"></head><body>'
        '<nav><label for="search">Search</label><input id="search" type="search"><div id="found" '
        f'aria-live="polite"></div>{menu}</nav><main>{body}</main>'
        '<script src="search.js"></script></body></html>\n')


main()
