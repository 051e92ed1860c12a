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
PAGES = ("file", "person", "describe", "policy", "compare", "inspect", "publish", "again")


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
                page = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
                page.goto(address)
                for name in PAGES:
                    if name == "inspect":  # the recommended release
                        page.goto(f"{home}/p/{project}/compare")
                        page.click("text=Inspect it")
                    else:
                        page.goto(f"{home}/p/{project}/{name}")
                    page.wait_for_selector('[data-wait="yes"]', state="detached")
                    page.screenshot(path=HERE / f"web-{name}-{scheme}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:3])
