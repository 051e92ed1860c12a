"""A small project on a server of its own, for tests of pages."""

from __future__ import annotations

import time

from starlette.testclient import TestClient

from sfumato.web.app import COOKIE, created

HOST = "127.0.0.1:8765"
HOME = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
PUBLIC = """name = "t"
population = "t"
rows_per_person = 1
source = "public"
rows = 1000

[attribute.id]
role = "identifier"

[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 70]
step = 10

[attribute.town]
role = "quasi"
values = ["a", "b", "c"]

[attribute.ill]
role = "sensitive"
values = ["x", "y", "z"]
"""


def client(folder):
    """Return a browser that knows the token of a server over a workspace."""
    app = created(folder, token="t0ken", hosts=frozenset({HOST}))
    made = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)
    made.cookies.set(COOKIE, "t0ken")
    return made


def asked(web, address, ready, seconds=300):
    """Return what a page says once it is ready."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        data = web.get(f"{address}.json").json()
        if ready(data):
            return data
        time.sleep(0.05)
    raise AssertionError(address)


def uploaded(web, more=""):
    """Upload 90 rows that fit `PUBLIC`; return the address of the project once the file was looked at."""
    rows = ["id,age,town,ill", *(f"P{at},{20 + at % 50},{'abc'[at % 3]},{'xyz'[at % 3]}" for at in range(90))]
    answer = web.put("/upload", params={"name": f"t{more}.csv"}, content="\n".join(rows).encode(), headers=HOME)
    base = answer.json()["next"].rpartition("/")[0]
    asked(web, f"{base}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    return base
