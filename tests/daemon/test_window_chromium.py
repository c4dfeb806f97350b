"""The window's pages in a browser: nothing runs over the edge, in a wide window and a narrow one, in light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import pytest
from maple_daemon.base.settings import Settings
from maple_daemon.window import figures, pages

from tests.daemon.test_window import NOW, settings  # noqa: F401

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (1280, 390)  # pixels: a desk's screen, a telephone's
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 25, 30)"}
MEASURE = """
<script>
addEventListener("load", () => {
  const seen = [...document.querySelectorAll("iframe")].map(({contentDocument: page, name, width}) => {
    const shapes = [...page.querySelectorAll("svg, p, h1, h2, nav")].map(part => part.getBoundingClientRect().right);
    const paper = getComputedStyle(page.body).backgroundColor;
    return [name, +width, page.documentElement.scrollWidth, Math.max(...shapes), paper];
  });
  document.body.textContent = JSON.stringify(seen);
});
</script>
"""


@pytest.mark.skipif(not CHROMIUM, reason="no chromium on PATH: apt-get install chromium")
@pytest.mark.parametrize("theme", PAPER)
def test_no_page_runs_over_the_edge(theme: str, settings: Settings, tmp_path: Path) -> None:  # noqa: F811
    """Each page of the figures of sixty jobs; a wide table scrolls in its own frame."""
    window = figures.window(figures.Source(None, settings, "2026-10-01"), NOW)
    frames = "".join(
        '<iframe name="%s" width="%d" height="800" srcdoc="%s"></iframe>'
        % (path or "submissions", width, escape(pages.page(path, window), quote=True))
        for path in pages.pages() for width in WIDTHS
    )  # fmt: skip
    (tmp_path / "all.html").write_text("<!doctype html><body>%s%s" % (frames, MEASURE), "utf-8")
    scheme = "--blink-settings=preferredColorScheme=%d" % list(PAPER)[::-1].index(theme)
    alone = ["--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=%s" % tmp_path, "--window-size=1600,1200"]
    argv = [CHROMIUM, *alone, scheme, "--virtual-time-budget=5000", "--dump-dom", tmp_path / "all.html"]
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=120, check=True)
    told = re.search(r"\[\[.*\]\]", done.stdout, re.DOTALL)
    assert told is not None, done.stderr[-2000:]
    seen = json.loads(unescape(told[0]))
    assert len(seen) == len(WIDTHS) * len(pages.pages())
    for name, width, needs, right, paper in seen:
        assert needs <= width and right <= width and paper == PAPER[theme], (name, width, needs, right, paper)
