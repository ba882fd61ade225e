"""Reading pages as their visitors do: words, links, what is asked; and going through them with htmx's header."""

import re
from html import unescape
from typing import Any

from django.test import Client


class Page:
    """What came back."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.html: str = response.content.decode()

    @property
    def words(self) -> str:
        """The visible text, in one line."""
        text = re.sub(r"(?s)<(script|style|svg|template|dialog).*?</\1>|<kbd.*?</kbd>", " ", self.html)
        text = re.sub(r"(?s)<(\w+)[^>]*\shidden>.*?</\1>", " ", text)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())

    @property
    def assignment(self) -> str:
        found = re.search(r'name="assignment" value="([0-9a-f-]{36})"', self.html)
        assert found, self.words
        return found.group(1)

    @property
    def links(self) -> list[str]:
        """Where the links within the stage's main part lead."""
        return [unescape(one) for one in re.findall(r'<a [^>]*?href="([^"]+)"', self.html)]

    def link(self, name: str) -> str:
        found = re.search(rf'<a id="{name}"[^>]*? href="([^"]+)"', self.html)
        assert found, f"no link {name}: {self.words}"
        return unescape(found.group(1))

    def field(self, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]*)"', self.html)
        return found.group(1) if found else ""


class Visitor:
    """Somebody at a judging page whose scripts work: every step swaps the stage."""

    def __init__(self, client: Client, url: str) -> None:
        self.client, self.url = client, url
        self.page = Page(client.get(url))

    @property
    def assignment(self) -> str:
        return self.page.assignment

    def open(self, url: str) -> None:
        self.page = Page(self.client.get(url, headers={"HX-Request": "true"}))

    def reload(self) -> None:
        self.page = Page(self.client.get(self.url))

    def follow(self, name: str) -> None:
        self.open(self.page.link(name))

    def post(self, what: str, form: dict[str, Any]) -> None:
        self.page = Page(self.client.post(f"{self.url}{what}/", form, headers={"HX-Request": "true"}))

    def begin(self, **form: str) -> None:
        self.post("begin", form)

    go_on = begin

    def answer(self, choice: str, **form: str) -> None:
        given = {"assignment": self.assignment, "supersedes": self.page.field("supersedes"), "choice": choice}
        self.post("answer", {**given, **form})
