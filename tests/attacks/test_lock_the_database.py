"""Attack: every thread of the web server waits for a locked database; the site still says that it lives."""

import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests.environment import PATIENCE_S
from tests.processes import free_port, start_manage, visit, wait_until_ready
from tests.templates import FILE, seed

VISITORS = 24


def test_livez_answers_while_all_threads_wait(tmp_path: Path) -> None:
    seed(tmp_path)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    web = start_manage(tmp_path, "web", "--port", str(port), output=subprocess.DEVNULL)
    try:
        wait_until_ready(url, web)
        with closing(sqlite3.connect(tmp_path / FILE)) as holder, ThreadPoolExecutor(VISITORS) as pool:
            holder.execute("BEGIN IMMEDIATE")
            sent = [pool.submit(sign_up, url, number) for number in range(VISITORS)]
            with visit(url) as site:
                for _ in range(3):
                    assert site.get("/livez").json() == {"live": True}
                assert not all(one.done() for one in sent), "the requests did not wait for the database"
            holder.rollback()
            codes = [one.result() for one in sent]
        assert set(codes) <= {302, 503}
        assert 302 in codes, "those that waited are served"
    finally:
        web.terminate()
        web.wait(PATIENCE_S)


def sign_up(url: str, number: int) -> int:
    with visit(url) as site:
        page = site.get("/account/sign-up/")
        if page.status_code == 503:
            return page.status_code
        token = page.cookies["csrftoken"]
        form = {"username": f"user{number}", "password": "correct horse battery", "csrfmiddlewaretoken": token}
        return site.post("/account/sign-up/", data=form).status_code
