"""Serving: pages on this computer alone, built again when what they are made of changes, and reloaded by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from urllib.parse import unquote, urlsplit

from gpukit.errors import GpukitError
from gpukit.slides.errors import SlidesError
from gpukit.slides.html import build as building
from gpukit.slides.html import page
from gpukit.slides.html import site as sites
from gpukit.slides.html.build import Built, Main
from gpukit.slides.html.site import INDEX, Neighbours
from gpukit.slides.model import Deck

HOST = "127.0.0.1"
EVENTS = "/events"
# Pages may send nothing anywhere; served here they may ask this server whether they have changed.
RELOAD = f'<script>new EventSource("{EVENTS}").onmessage = () => location.reload();</script>'
WATCHED = ("slides", "gpukit", "labs", "data/results", "data/gpus.toml")
THEME = (".css", ".js")
SECONDS = 15.0  # between two signs of life, by which the server learns that a reader went away


class Show:
    """What is served now: the decks as last built, and what is wrong with those that are not."""

    def __init__(
        self, root: Path, out: Path, jobs: int, main: Main, say: Callable[[str], None], pyodide: Path | None = None
    ):
        self.root, self.out, self.jobs, self.main, self.say, self.pyodide = root, out, jobs, main, say, pyodide
        self.decks: dict[str, Deck] = {}
        self.errors: dict[str, str] = {}
        self.done: set[str] = set()  # pages that were built
        self.waiting: set[str] = set()  # pages that are built for the first time
        self.readers: set[SimpleQueue[bool]] = set()  # open pages, each with what it is to be told

    def build(self, files: Sequence[Path]) -> None:
        """Build these decks and all that is no deck, and tell the pages. Errors are kept, to be shown in the pages'
        place."""
        self.waiting = {sites.LIVE, *(f"{path.stem}.html" for path in files)} - self.done
        try:
            site = sites.read(self.root)
            # In new processes, since this one has the old figures and kernels imported.
            for done in building.build(site, self.out, files, self.jobs, self.main, pyodide=self.pyodide, apart=True):
                self._keep(done)
        except GpukitError as error:
            self.errors[INDEX] = str(error)
            self.say(str(error))
        else:
            self.errors.pop(INDEX, None)
        self.waiting = set()
        self._tell()

    def restyle(self) -> None:
        """Write all pages anew: the theme has changed, and no deck."""
        page.forget()
        try:
            site = sites.read(self.root)
        except GpukitError as error:
            self.say(str(error))
            return
        for deck in self.decks.values():
            building.write_deck(site, self.out, deck)
        self.say(f"theme: {len(self.decks)} decks")
        self.build([])

    def update(self, changed: Iterable[str]) -> None:
        """Do what a change of these files asks for."""
        paths = [Path(name) for name in changed]
        if any(path.suffix in THEME for path in paths):
            self.restyle()
        rest = [path for path in paths if path.suffix not in THEME]
        if rest:
            self.build(self.made_of(rest))

    def made_of(self, changed: Sequence[Path]) -> list[Path]:
        """The decks that these files are, or that name one of them, or a file of slides/ that imports one of them."""
        names = {path.relative_to(self.root).as_posix() for path in changed if path.is_relative_to(self.root)}
        names |= self._importing(names)
        labs = {name.split("/")[1] for name in names if name.startswith("labs/")}
        found = []
        for file in sites.deck_files(self.root):
            text = file.read_text(encoding="utf-8", errors="replace")
            if file in changed or any(name in text for name in names) or any(lab in text for lab in labs):
                found.append(file)
        return found

    def _importing(self, names: set[str]) -> set[str]:
        """Files of slides/ that import their neighbours among these, or one that does."""
        texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in self.root.glob("slides/*/*.py")}
        found: set[str] = set()
        wanted = {Path(name).stem for name in names if name.startswith("slides/") and name.endswith(".py")}
        while wanted:
            importing = re.compile(rf"^from \..*\b(?:{'|'.join(wanted)})\b", re.MULTILINE)
            more = {path.relative_to(self.root).as_posix() for path, text in texts.items() if importing.search(text)}
            wanted = {Path(name).stem for name in more - found}
            found |= more
        return found

    @contextmanager
    def reader(self) -> Iterator[SimpleQueue[bool]]:
        """A queue that gets something whenever there is something new."""
        queue: SimpleQueue[bool] = SimpleQueue()
        self.readers.add(queue)
        try:
            yield queue
        finally:
            self.readers.discard(queue)

    def _keep(self, done: Built) -> None:
        name = f"{done.name}.html"
        self.waiting.discard(name)
        if done.error:
            self.errors[name] = done.error
            self.say(f"{done.name}: {done.error}")
            return
        self.errors.pop(name, None)
        self.done.add(name)
        if done.deck is not None:
            self.decks[done.name] = done.deck
            self.say(f"{done.name}: {len(done.deck.slides)} slides, {done.seconds:.1f} s")

    def _tell(self) -> None:
        for queue in tuple(self.readers):
            queue.put(True)


def serve(show: Show, port: int) -> None:
    """Build, serve and watch until the process is interrupted. Raises SlidesError when the port is taken."""
    try:
        server = ThreadingHTTPServer((HOST, port), partial(Handler, show))
    except OSError as error:
        raise SlidesError(f"cannot serve at port {port}: {error.strerror}; choose another with --port") from None
    server.daemon_threads = True
    with server, ThreadPoolExecutor(1) as thread:
        thread.submit(server.serve_forever)
        show.say(f"http://{HOST}:{server.server_port}/  (Ctrl-C ends it)")
        try:
            show.build(sites.deck_files(show.root))
            watch(show)
        finally:
            server.shutdown()


def watch(show: Show) -> None:
    import watchfiles

    folders = [path for name in WATCHED if (path := show.root / name).exists()]
    for changes in watchfiles.watch(*folders, watch_filter=partial(_is_source, show.out), raise_interrupt=True):
        show.update(path for _, path in changes)


def _is_source(out: Path, change: object, name: str) -> bool:
    path = Path(name)
    return path.suffix in (".md", ".py", ".cu", ".cuh", ".json", ".toml", *THEME) and not path.is_relative_to(out)


class Handler(SimpleHTTPRequestHandler):
    """Answers with the pages of the folder, each with the script that reloads it, or with what is wrong with it."""

    def __init__(self, show: Show, *rest: object):
        self.show = show
        super().__init__(*rest, directory=str(show.out))  # type: ignore[arg-type]

    def do_GET(self) -> None:
        name = unquote(urlsplit(self.path).path).lstrip("/") or INDEX
        if self.path == EVENTS:
            self._events()
        elif name in self.show.errors:
            self._page(sentence_page(f"{name} cannot be built", self.show.errors[name]), 500)
        elif name in self.show.waiting:
            self._page(sentence_page(f"{name} is being built", "This page comes by itself when it is done."), 503)
        elif name.endswith(".html") and "/" not in name and name != sites.LIVE and (self.show.out / name).is_file():
            self._page((self.show.out / name).read_text(encoding="utf-8"))
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not worth a line."""

    def _page(self, html: str, status: int = 200) -> None:
        html = html.replace("default-src 'none';", "default-src 'none'; connect-src 'self';", 1)
        body = html.replace("</body>", f"{RELOAD}\n</body>").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        """Says so when there is something new, until the reader goes away."""
        with self.show.reader() as queue:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"data: new\n\n" if _came(queue) else b": waiting\n\n")
                    self.wfile.flush()
            except OSError:
                return


def _came(queue: SimpleQueue[bool]) -> bool:
    """Whether something comes before the reader must be asked whether he is still there."""
    try:
        return queue.get(timeout=SECONDS)
    except Empty:
        return False


def sentence_page(title: str, message: str) -> str:
    """What is shown in the place of a page that is not there: why, in a sentence."""
    body = f"<h1>{escape(title)}</h1>\n<p>{escape(message)}</p>"
    return page.page(title, "", body, "text", page.header(Neighbours()))
