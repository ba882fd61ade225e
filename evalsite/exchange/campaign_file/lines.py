"""Parse YAML into plain values and a map of their lines."""

from __future__ import annotations

from typing import Any

import yaml

from evalsite.exchange.campaign_file.problems import CampaignFileError, Problem

MOST_BYTES = 200_000_000
MOST_DEEP = 30  # a campaign's file goes six deep
LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader  # 20,000 prompts: 0.7 s by libyaml, or 4 s
TEXT_TAG = "tag:yaml.org,2002:str"

BEGINS = (
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
)
ENDS = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)

Path = tuple[str | int, ...]  # names of keys and positions in lists, from the top


class Unreadable:
    """A scalar with an unknown tag, or one that its tag does not allow. No field accepts it."""


class Document:
    """A YAML document. `value` holds dicts, lists and scalars; keys are texts, as the file spells them.

    `problems` lists duplicate keys, and keys that are no plain text.
    """

    def __init__(self, content: str) -> None:
        self.problems: list[Problem] = []
        self._lines: dict[Path, int] = {}
        self._key_lines: dict[Path, int] = {}
        self._constructor = yaml.constructor.SafeConstructor()
        self.value = self._plain(_compose(content), ())

    def line(self, path: Path) -> int:
        """Return the line of the value at `path`, or of the innermost existing value around it."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def key_line(self, path: Path) -> int:
        """Return the line of the last key of `path`, or of the innermost existing value around it."""
        return self._key_lines.get(path) or self.line(path)

    def _plain(self, node: yaml.Node, path: Path) -> Any:
        self._lines[path] = _line(node)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*path, position)) for position, item in enumerate(node.value)]
        return self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in node.value:
            line, inside = _line(name), (*path, name.value)
            if not isinstance(name, yaml.ScalarNode):
                self.problems.append(Problem(line, dotted(path), "has a key that is no plain text"))
                continue
            if name.value in found:
                self.problems.append(Problem(line, dotted(inside), "stands here twice"))
            self._key_lines[inside] = line
            found[name.value] = self._plain(value, inside)
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        if node.tag == TEXT_TAG:
            return node.value
        try:
            return self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return Unreadable()
        finally:
            self._constructor.constructed_objects.clear()


def dotted(path: Path) -> str:
    """Return the path as a text, such as prompts.1.turns."""
    return ".".join(map(str, path))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _compose(content: str) -> yaml.Node:
    """Return the root of the only document. Raises CampaignFileError."""
    if len(content) > MOST_BYTES:
        raise CampaignFileError([Problem(1, "", "the file is too long")])
    try:
        _scan(content)
        root: yaml.Node | None = yaml.compose(content, Loader=LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or "it cannot be read"
        raise CampaignFileError([Problem(mark.line + 1 if mark else 1, "", f"not YAML: {message}")]) from None
    if root is None:
        raise CampaignFileError([Problem(1, "", "the file is empty")])
    return root


def _scan(content: str) -> None:
    """Refuse aliases and deep nesting, which expand to gigabytes or take minutes to compose."""
    deep = 0
    for token in yaml.scan(content, Loader=LOADER):
        if isinstance(token, yaml.AliasToken):
            raise CampaignFileError([Problem(token.start_mark.line + 1, "", "aliases (*name) are not read")])
        deep += isinstance(token, BEGINS) - isinstance(token, ENDS)
        if deep > MOST_DEEP:
            raise CampaignFileError([Problem(token.start_mark.line + 1, "", "it is nested too deeply")])
