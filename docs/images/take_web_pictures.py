# ruff: noqa: INP001
"""Take the pictures of the web app: `python docs/images/take_web_pictures.py WORKSPACE PROJECT`, light and dark.

The project must have been compared and published; the pages are those of docs/web.md.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PAGES = ("start", "file", "person", "describe", "column", "policy", "compare", "inspect", "publish", "attacks", "again")
FROM = {"column": "describe", "inspect": "compare", "attacks": "publish"}  # pages that are reached from another one
CLICKED = {"column": "li.role-quasi h2 a >> nth=1", "inspect": "text=Inspect it", "attacks": "text=Attack it >> nth=-1"}


def main(workspace: str, project: str) -> None:
    """Start the app on a workspace and save a picture of each page."""
    command = [sys.executable, "-m", "sfumato", "serve", workspace, "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  (our own interpreter)
    assert server.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        text += server.stdout.readline()
    address = json.loads(text)["address"]
    home = address.partition("/?")[0]
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": 1200, "height": 680}, color_scheme=scheme)
                page.goto(address)
                page.wait_for_url(lambda url: "token" not in url)
                for name in PAGES:
                    page.goto(f"{home}/" if name == "start" else f"{home}/p/{project}/{FROM.get(name, name)}")
                    if name in CLICKED:
                        page.click(CLICKED[name])
                        page.wait_for_load_state()
                    page.wait_for_selector('[data-wait="yes"]', state="detached")
                    page.screenshot(path=HERE / f"web-{name}-{scheme}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:3])
