"""The application: its server on this machine, addresses, forms, and who may use them.

It listens on this machine only. The address that is printed at the start holds a random token; opening it sets a cookie
that no other site can send along. Every request must name this server as its host, and every change must come from one
of its own pages. Pages load nothing from anywhere else, and nothing that was read from a file is ever markup.
"""

from __future__ import annotations

import asyncio
import hmac
import inspect
import json
import os
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qs, quote

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.errors import ParameterError, SfumatoError, count_of
from sfumato.release.atomic import write_whole
from sfumato.version import __version__
from sfumato.visible import visible
from sfumato.web import edits
from sfumato.web.actions import Actions
from sfumato.web.background import Background, RecentTables, schema_of
from sfumato.web.choosing import Choosing
from sfumato.web.publishing import Publishing
from sfumato.web.released import Released
from sfumato.web.samples import SAMPLES, sample_project
from sfumato.web.screens import Screens
from sfumato.web.wording import attack_plainly, attack_tried, axis_plainly, page_sentence, page_words, said_on_page
from sfumato.web.workspace import Project, Workspace, safe_name

COOKIE = "sfumato"
_FORM = 2_000_000  # bytes of a form
_STATIC = {"app.css": "text/css", "app.js": "text/javascript"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A page that the command wrote stands alone: it may run its own script and reach nothing.
_SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:"
)
_WRITTEN = re.compile(r"report\.html|(?:page|map)-[\w.-]{1,130}\.html", re.ASCII)  # what a run writes
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer a form would have no origin
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Lets in who has the token, from this machine's own pages only, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: frozenset[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that passes; refuse any other before the app sees it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request = Request(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                held = {name for name, _ in message["headers"]}
                added = [(n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in held]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refused = self._refused(request)
        await (self.app if refused is None else refused)(scope, receive, with_headers)

    def _refused(self, request: Request) -> ASGIApp | None:
        """Return the answer to a request that is not let in."""
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return PlainTextResponse("This server answers to its own address only.", status_code=421)
        if request.url.path == "/favicon.ico":  # browsers ask for it on their own; there is none
            return Response(status_code=204)
        given = request.query_params.get("token")
        if given is not None and request.method == "GET":
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return PlainTextResponse("The token is not the one printed at the start.", status_code=403)
            # A page, not a redirect: a browser that came from a file sends the cookie only to what our page opens.
            onward = escape("/" + request.url.path.lstrip("/\\"))  # //name would be another host
            head = '<!doctype html><title>Sfumato</title><link rel="icon" href="data:,">'
            text = f'{head}<meta http-equiv="refresh" content="0; url={onward}">'
            answer = HTMLResponse(f'{text}<a href="{onward}">Sfumato</a>')
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict", path="/")
            return answer
        held = request.cookies.get(COOKIE, "")
        if not hmac.compare_digest(held.encode(), self.token.encode()):
            return PlainTextResponse("Open the address that `sfumato serve` printed.", status_code=403)
        if request.method not in ("GET", "HEAD"):
            origin = request.headers.get("origin", "")
            site = request.headers.get("sec-fetch-site", "same-origin")
            if origin not in {f"http://{name}" for name in self.hosts} or site != "same-origin":
                return PlainTextResponse("Changes are made from this server's own pages only.", status_code=403)
        return None


@cache
def _templates() -> Environment:
    there = Environment(
        loader=PackageLoader("sfumato.web"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    there.filters["shown"] = visible
    there.filters["shown_lines"] = lambda text: visible(text, keep="\n")
    there.filters["page_words"] = page_words
    there.filters["page_sentence"] = page_sentence
    there.filters["column"] = lambda path: str(path).removeprefix("attribute.")
    there.filters["axis"] = axis_plainly
    there.filters["attacked"] = attack_plainly
    there.tests["tried"] = attack_tried
    there.filters["commas"] = lambda number: f"{number:,}"
    there.filters["address"] = lambda text: quote(str(text), safe="")
    there.filters["pretty"] = lambda value: json.dumps(value, indent=1, ensure_ascii=False)
    there.filters["percent"] = lambda share: f"{100 * share:.3g} %"
    there.globals["count_of"] = count_of
    there.globals["version"] = __version__
    return there


async def _form(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form; its size is bounded, and files never come this way."""
    size = 0
    parts: list[bytes] = []
    async for part in request.stream():
        size += len(part)
        if size > _FORM:
            raise HTTPException(413, "The form is too large.")
        parts.append(part)
    try:
        text = b"".join(parts).decode("utf-8")
        return parse_qs(text, keep_blank_values=True, max_num_fields=50_000)
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None


class App:
    """The handlers of all addresses."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.background, self.tables = Background(), RecentTables()
        self.screens = Screens(workspace, self.background, self.tables)
        self.choosing = Choosing(self.screens)
        self.publishing = Publishing(self.screens, self.choosing)
        self.released = Released(self.screens, self.publishing)
        self.actions = Actions(self.screens, self.choosing, self.publishing)

    # -- answering ---------------------------------------------------------------------------

    def shown(self, request: Request, page: str, data: Mapping[str, Any], status: int = 200) -> Response:
        """Print an answer as a page, or as JSON where the address ends with .json."""
        if request.url.path.endswith(".json"):
            return JSONResponse(data, status_code=status)
        message = {"said": request.query_params.get("said", ""), "wrong": request.query_params.get("wrong", "")}
        text = _templates().get_template(f"{page}.html.j2").render(page=page, message=message, **data)
        return Response(text, status_code=status, media_type="text/html")

    def screen(self, page: str, build: Callable[..., dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of a page about a project; one with a parameter `form` reads what the address asks."""
        asks = "form" in inspect.signature(build).parameters

        async def handler(request: Request) -> Response:
            names = {key: value for key, value in request.path_params.items() if key != "project"}
            query: dict[str, Any] = {}
            if asks:
                query["form"] = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=1000)
            project = self.workspace.project(request.path_params["project"])
            data = await asyncio.to_thread(build, project, **names, **query)
            return self.shown(request, page, data)

        return handler

    def change(
        self, work: Callable[[Project, dict[str, list[str]], dict[str, str]], str | None], back: str
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of a form: one change, then back to the page it came from."""

        async def handler(request: Request) -> Response:
            names = {key: str(value) for key, value in request.path_params.items()}
            project = self.workspace.project(names.pop("project"))
            form = await _form(request)
            where = f"/p/{project.id}/{back.format(**{k: quote(v, safe='') for k, v in names.items()})}"
            if "back" in form and form["back"][0].startswith(f"/p/{project.id}/"):
                where = form["back"][0]
            wants_json = "application/json" in request.headers.get("accept", "")
            try:
                elsewhere = await asyncio.to_thread(work, project, form, names)
            except SfumatoError as error:
                if wants_json:
                    return JSONResponse({"ok": False, **said_on_page(error.as_json())}, status_code=422)
                page, hash_, place = where.partition("#")  # the message is part of the address before its place
                mark = "&" if "?" in page else "?"
                said = quote(page_words(str(error))[:600])
                return RedirectResponse(f"{page}{mark}wrong={said}{hash_}{place}", status_code=303)
            if wants_json:
                return JSONResponse({"ok": True, "next": elsewhere or where})
            return RedirectResponse(elsewhere or where, status_code=303)

        return handler

    # -- pages -------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """The first page."""
        return self.shown(request, "start", {**self.screens.start(), "samples": [one.to_json() for one in SAMPLES]})

    async def upload(self, request: Request) -> Response:
        """Receive a file: the body of the request is the file, its name is in the address."""
        declared = request.headers.get("content-length")
        size = int(declared) if declared is not None and declared.isdigit() else None
        try:
            project = await self.workspace.received(
                request.query_params.get("name", "table.csv"), request.stream(), declared=size
            )
        except SfumatoError as error:
            return JSONResponse({"ok": False, **said_on_page(error.as_json())}, status_code=413)
        except ClientDisconnect:
            return JSONResponse({"ok": False, "message": "the upload was cut off"}, status_code=400)
        return JSONResponse({"ok": True, "next": f"/p/{project.id}/file"})

    async def sample(self, request: Request) -> Response:
        """Make a project of a sample."""
        form = await _form(request)
        project = await asyncio.to_thread(sample_project, self.workspace, edits.one(form, "sample"))
        return RedirectResponse(f"/p/{project.id}/file", status_code=303)

    async def delete(self, request: Request) -> Response:
        """Delete a project, where its name was typed."""
        project = self.workspace.project(request.path_params["project"])
        form = await _form(request)
        if edits.one(form, "confirm") == project.title:
            await asyncio.to_thread(self.workspace.removed, project.id)
        return RedirectResponse("/", status_code=303)

    async def static(self, request: Request) -> Response:
        """Return the style or the script."""
        from sfumato.pages.page import template_text

        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404, "There is no such file.")
        text = (files("sfumato.web") / "static" / name).read_text("utf-8")
        if name == "app.css":
            text = template_text("colors.css") + text
        return Response(text, media_type=_STATIC[name], headers={"cache-control": "no-cache"})

    async def hierarchy(self, request: Request) -> Response:
        """Return a column's hierarchy as ARX reads it."""
        project = self.workspace.project(request.path_params["project"])
        name = request.path_params["name"]
        schema = await asyncio.to_thread(schema_of, project)
        text = schema.arx_hierarchy(name)
        given = {"content-disposition": f'attachment; filename="{safe_name(name)}.csv"'}
        return Response(text, media_type="text/csv", headers=given)

    async def received_hierarchy(self, request: Request) -> Response:
        """Receive an ARX hierarchy file for a column; the body is the file."""
        project = self.workspace.project(request.path_params["project"])
        name = request.path_params["name"]
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _FORM:
                return JSONResponse({"ok": False, "message": "the hierarchy file is larger than 2 MB"}, status_code=413)
        try:
            await asyncio.to_thread(self.actions.take_hierarchy, project, name, body)
        except SfumatoError as error:
            return JSONResponse({"ok": False, **said_on_page(error.as_json())}, status_code=422)
        return JSONResponse({"ok": True, "next": f"/p/{project.id}/column/{quote(name, safe='')}"})

    async def download(self, request: Request) -> Response:
        """Return a file of a published release."""
        project = self.workspace.project(request.path_params["project"])
        path = project.inside("releases", request.path_params["release"], request.path_params["file"])
        if not path.is_file() or path.parent not in [one.resolve() for one in project.releases()]:
            raise HTTPException(404, "There is no such file.")
        return FileResponse(path, filename=safe_name(path.name))

    async def written_page(self, request: Request) -> Response:
        """Return a page that a run of the command wrote, closed off from everything else."""
        project = self.workspace.project(request.path_params["project"])
        name = request.path_params["name"]
        path = project.inside(name)
        if not _WRITTEN.fullmatch(name) or not path.is_file():
            raise HTTPException(404, "There is no such page.")
        return Response(path.read_bytes(), media_type="text/html", headers={"content-security-policy": _SANDBOX})

    async def run(self, request: Request) -> Response:
        """How far a run is: what its page asks for while it waits."""
        project = self.workspace.project(request.path_params["project"])
        return JSONResponse({"run": self.screens.run(project, request.path_params["run"]).to_json()})

    def routes(self) -> list[Route]:
        """Return every address; each page also as .json."""
        screens, choosing, publishing, actions = self.screens, self.choosing, self.publishing, self.actions
        released = self.released
        pages: list[tuple[str, str, Callable[..., dict[str, Any]]]] = [
            ("file", "file", screens.file),
            ("person", "person", screens.person),
            ("describe", "describe", screens.describe),
            ("column/{name}", "column", screens.column),
            ("policy", "policy", choosing.policy),
            ("compare", "compare", choosing.compare),
            ("inspect", "inspect", choosing.inspect),
            ("inspect/{number:int}", "inspect", choosing.inspect),
            ("publish", "publish", publishing.publish),
            ("attacks/{name}", "attacks", released.attacks),
            ("record/{name}", "record", released.record),
            ("map", "map", released.map),
            ("again", "again", publishing.again),
        ]
        found = [
            Route("/", self.start),
            Route("/index.json", self.start),
            Route("/static/{name}", self.static),
            Route("/upload", self.upload, methods=["PUT"]),
            Route("/sample", self.sample, methods=["POST"]),
            Route("/p/{project}/delete", self.delete, methods=["POST"]),
            Route("/p/{project}/column/{name}/hierarchy.csv", self.hierarchy),
            Route("/p/{project}/column/{name}/hierarchy", self.received_hierarchy, methods=["PUT"]),
            Route("/p/{project}/releases/{release}/{file}", self.download),
            Route("/p/{project}/pages/{name}", self.written_page),
            Route("/p/{project}/runs/{run}.json", self.run),
        ]
        for address, page, build in pages:
            handler = self.screen(page, build)
            found += [Route(f"/p/{{project}}/{address}.json", handler), Route(f"/p/{{project}}/{address}", handler)]
        forms: list[tuple[str, Callable[..., str | None], str]] = [
            ("options", actions.set_options, "file"),
            ("reading", actions.set_reading, "file"),
            ("person", actions.set_person, "person"),
            ("not-person", actions.not_person, "person"),
            ("not-count", actions.not_count, "person"),
            ("roles", actions.set_roles, "describe"),
            ("ranges", actions.set_ranges, "describe"),
            ("answer", actions.answer, "describe"),
            ("answers", actions.answers, "describe"),
            ("answer-same", actions.answer_same, "describe"),
            ("undo", actions.undo, "describe"),
            ("schema", actions.set_schema, "describe"),
            ("column/{name}/keys", actions.set_keys, "column/{name}"),
            ("column/{name}/group", actions.group, "column/{name}"),
            ("column/{name}/ungroup", actions.ungroup, "column/{name}"),
            ("column/{name}/merge", actions.merge, "column/{name}"),
            ("column/{name}/merge-alike", actions.merge_alike, "column/{name}"),
            ("column/{name}/numbers", actions.as_numbers, "column/{name}"),
            ("column/{name}/dates", actions.as_dates, "column/{name}"),
            ("policy", actions.set_policy, "policy"),
            ("compare", actions.start_compare, "compare"),
            ("runs/{run}/cancel", actions.cancel, "compare"),
            ("runs/{run}/resume", actions.resume, "compare"),
            ("publish", actions.start_publish, "publish"),
            ("attacks/{name}", released.start_attacks, "attacks/{name}"),
            ("map", released.start_map, "map"),
            ("ledger", actions.set_limit, "again"),
        ]
        found += [
            Route(f"/p/{{project}}/{address}", self.change(work, back), methods=["POST"])
            for address, work, back in forms
        ]
        return found


def created(
    folder: str | Path, *, token: str | None = None, hosts: frozenset[str], upload_limit: int | None = None
) -> Starlette:
    """Return the application for a workspace; `hosts` are the addresses it answers to."""
    given = {} if upload_limit is None else {"upload_limit": upload_limit}
    app = App(Workspace.opened(folder, **given))

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, SfumatoError)
        return _wrong(app, request, 404 if "is not in this workspace" in str(error) else 422, str(error), error.hint)

    async def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        missing = error.status_code == 404 and error.detail == "Not Found"
        return _wrong(app, request, error.status_code, "There is no such page." if missing else str(error.detail), "")

    async def unexpected(request: Request, error: Exception) -> Response:
        # The message of another library may quote a cell: only its kind is shown.
        return _wrong(
            app, request, 500, f"Unexpected {type(error).__name__}.", "Nothing was lost. Go back and try again."
        )

    starlette = Starlette(
        routes=app.routes(),
        exception_handlers={SfumatoError: ours, HTTPException: plain, Exception: unexpected},
    )
    starlette.state.app = app
    starlette.add_middleware(Guard, token=token or secrets.token_urlsafe(24), hosts=hosts)
    return starlette


def _wrong(app: App, request: Request, status: int, message: str, hint: str) -> Response:
    if request.url.path.endswith(".json") or "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"ok": False, "message": message, "hint": hint}, status_code=status)
    return app.shown(request, "wrong", {"status": status, "text": message, "hint": hint}, status)


_HOST = "127.0.0.1"
_GRACE = 0.6  # seconds in which requests may end after Ctrl-C


class _Server(uvicorn.Server):
    """A server that ends soon after a signal, whatever its threads are still working out.

    Files of a project are written whole or not at all, and runs are processes of their own: nothing is lost.
    """

    def __init__(self, config: uvicorn.Config, *, stopped: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopped = stopped

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let requests end for a moment, then end the process."""
        super().handle_exit(sig, frame)
        end = threading.Timer(_GRACE, self._ended, (sig,))
        end.daemon = True
        end.start()

    def _ended(self, number: int) -> None:
        self._stopped()
        os._exit(128 + number)


def serve(
    folder: str | Path,
    *,
    port: int = 0,
    upload_limit: int | None = None,
    ready: Callable[[str], None] | None = None,
    browser: bool = False,
    stopped: Callable[[], None] = lambda: None,
) -> None:
    """Serve a workspace until stopped.

    `ready` is called with the address to open, `browser` opens it, `stopped` is called where requests do not end in
    time and the process is ended without them.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
    except OSError as error:
        raise ParameterError("port", port, f"cannot be used ({error.strerror})", hint="omit --port") from None
    listening.listen()  # whoever opens the address at once waits until the server answers
    number = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    hosts = frozenset({f"{_HOST}:{number}", f"localhost:{number}"})
    app = created(folder, token=token, hosts=hosts, upload_limit=upload_limit)
    # Addresses hold names of columns, so that no request is logged.
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", server_header=False)
    address = f"http://{_HOST}:{number}/?token={token}"
    if ready is not None:
        ready(address)
    with closing(listening), _page_that_leads_to(address, app.state.app.workspace.folder) as page:
        if browser:
            webbrowser.open(page.as_uri())

        def ended() -> None:
            page.unlink(missing_ok=True)
            stopped()

        _Server(config, stopped=ended).run(sockets=[listening])


@contextmanager
def _page_that_leads_to(address: str, folder: Path) -> Iterator[Path]:
    """Write a page that only its owner can read, because other users can see the browser's command line."""
    page = folder / "open.html"
    text = f'<!doctype html><title>Sfumato</title><meta http-equiv="refresh" content="0; url={address}">\n'
    write_whole(page, text, mode=0o600)
    try:
        yield page
    finally:
        page.unlink(missing_ok=True)
