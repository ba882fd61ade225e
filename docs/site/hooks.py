"""Hooks of MkDocs: pages that are not files of docs/, links out of docs/, and checks of the finished site."""

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import diagrams
import operations
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parents[2]
# Pages of the site that are files outside docs/.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
}
SOURCES = {page: source for source, page in OUTSIDE.items()}
LOGO = "frontend/static/img/touchstone.svg"
LIBRARIES = re.compile(r"^(irt_engine|scheduler|evalsite\.client)\b.*\.md$")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
EXTERNAL = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the anchors of headings those of GitHub."""
    config.mdx_configs["toc"] = {**config.mdx_configs.get("toc", {}), "slugify": slugify(case="lower")}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ has no file for."""
    pages = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in OUTSIDE.items()}
    pages["decisions/index.md"] = _decisions()
    pages["operations.md"] = operations.page((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
    pages |= {name: _library(name.removesuffix(".md")) for name in _nav(config.nav) if LIBRARIES.match(name)}
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, "touchstone.svg", abs_src_path=str(ROOT / LOGO)))
    return files


def on_page_markdown(markdown: str, page: Page, **_options: object) -> str:
    """Show diagrams as pictures, and let links lead to pages of the site."""
    name = page.file.src_uri
    source = SOURCES.get(name, f"docs/{name}")
    parts = FENCE.split(markdown)
    text = "".join(part if part.startswith("```") else _with_links(part, name, source) for part in parts)
    return diagrams.BLOCK.sub(lambda found: f"![Diagram](pictures/{diagrams.file_name(found[1])})", text)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that loads anything from another host."""
    for path in Path(config.site_dir).rglob("*.html"):
        for tag in EXTERNAL.findall(path.read_text(encoding="utf-8")):
            raise PluginError(f"{path.name} loads from another host: {tag}")


def _nav(part: object) -> Iterator[str]:
    """Yield the files of the navigation."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list | dict):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _nav(inner)


def _library(module: str) -> str:
    """Return the page of a module: its public names, without those that the page of its library has."""
    library = module.partition(".")[0]
    names = [name for name in _exported(module) if module == library or name not in _exported(library)]
    chosen = f"    options:\n      members: [{', '.join(names)}]\n" if names else ""
    return f"# {module}\n\n::: {module}\n{chosen}"


def _exported(module: str) -> list[str]:
    """Return `__all__` of a module; empty if it has none."""
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _decisions() -> str:
    lines = ["# Design decisions", "", "For developers who want to know why the software is built as it is.", ""]
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        number, _, title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(". ")
        lines.append(f"{number}. [{title}]({path.name})")
    return "\n".join(lines) + "\n"


def _with_links(text: str, page: str, source: str) -> str:
    def led(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        if ":" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path == "docs/decisions":
            path = "docs/decisions/index.md"
        place = OUTSIDE.get(path, path.removeprefix("docs/"))
        if place == path:  # a file of the repository that is no page
            return words
        relative = posixpath.relpath(place, posixpath.dirname(page) or ".")
        return f"{picture}[{words}]({relative}{anchor or ''})"

    return LINK.sub(led, text)
