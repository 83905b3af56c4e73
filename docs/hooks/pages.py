"""Pages that lie beside docs/ (experiments, changelog, …) become part of the site.

Their links, and links to them, are written as GitHub reads them: relative to the file in the
repository. In the site docs/ is the root, so that both are rewritten here.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from leastnoise.report.check_page import check_page

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "RELEASING.md",
    "SECURITY.md",
    "benchmarks/AUDIT.md",
    "benchmarks/RESULTS.md",
    "benchmarks/SIDE_BY_SIDE.md",
    "experiments/*/*",
    "experiments/liu2026/table8/README.md",
    "experiments/liu2026/table8/errors.csv",
)
"""What the site takes from beside docs/."""
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]*)(?=[)#])")
_DOCS = "docs/"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add check.html and the files of OUTSIDE."""
    files.append(File.generated(config, "check.html", content=check_page()))
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                uri = path.relative_to(ROOT).as_posix()
                files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with its links as the site has them."""
    del config
    return in_site(markdown, uri=page.file.src_uri, known=set(files.src_uris))


def in_site(markdown: str, *, uri: str, known: set[str]) -> str:
    """Return `markdown` with links between docs/ and what is beside it rewritten.

    `uri` is the page's place in the site, `known` those of all its files. A link to a file that the
    repository has and the site hasn't becomes its name alone.

    >>> in_site("[a](../docs/noise.md#x)", uri="benchmarks/RESULTS.md", known={"noise.md"})
    '[a](../noise.md#x)'
    >>> in_site("[a](../CHANGELOG.md)", uri="noise.md", known={"CHANGELOG.md"})
    '[a](CHANGELOG.md)'
    """
    here = _in_repository(uri)

    def rewritten(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), found[1]))
        place = target.removeprefix(_DOCS)
        crosses = target.startswith(_DOCS) != here.startswith(_DOCS)
        if not crosses or place not in known:
            return found[1]
        return posixpath.relpath(place, posixpath.dirname(uri) or ".")

    return _LINK.sub(rewritten, markdown)


def _in_repository(uri: str) -> str:
    """Return where the file at `uri` of the site lies in the repository."""
    return _DOCS + uri if (ROOT / _DOCS / uri).exists() else uri
