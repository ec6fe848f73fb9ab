"""Reads the YAML that `skewguard render` prints: a small, strict part of the language, nothing else.

Mappings, lists, plain and double-quoted scalars, literal blocks ("|"), comments on lines of their
own. Anything beyond that is an error, so that a manifest which only looks right is noticed.
"""

import json
import re


class YamlError(ValueError):
    """Text outside the supported part of YAML."""


def load(text):
    """The one document in `text` as dictionaries, lists, strings, numbers and booleans."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1)]
    value, rest = _node(_skip(lines), 0)
    if _skip(rest):
        raise YamlError(f"line {rest[0][0]}: more than one document or a wrong indentation")
    return value


def _skip(lines):
    while lines and (not lines[0][1].strip() or lines[0][1].lstrip().startswith("#")):
        lines = lines[1:]
    return lines


def _indent(line):
    return len(line) - len(line.lstrip(" "))


def _node(lines, indent):
    lines = _skip(lines)
    if not lines or _indent(lines[0][1]) < indent:
        raise YamlError("a value is missing")
    indent = _indent(lines[0][1])
    return (_list if lines[0][1].lstrip().startswith("- ") else _mapping)(lines, indent)


def _list(lines, indent):
    items = []
    while lines and _indent(lines[0][1]) == indent and lines[0][1].lstrip().startswith("- "):
        number, line = lines[0]
        rest = line.lstrip()[2:]
        if re.match(r"[\w.-]+:( |$)", rest):
            # The item is a mapping; its first line stands behind the dash.
            item, lines = _mapping([(number, " " * (indent + 2) + rest), *lines[1:]], indent + 2)
        else:
            item, lines = _scalar(number, rest), lines[1:]
        items.append(item)
        lines = _skip(lines)
    return items, lines


def _mapping(lines, indent):
    result = {}
    while lines and _indent(lines[0][1]) == indent:
        number, line = lines[0]
        found = re.fullmatch(r'(?:"([^"\\]+)"|([\w./-]+)):(?: (.*))?', line.strip())
        if not found:
            raise YamlError(f"line {number}: neither a key nor a list item: {line.strip()[:60]}")
        key, rest = found[1] or found[2], (found[3] or "").strip()
        if key in result:
            raise YamlError(f"line {number}: {key} twice")
        lines = lines[1:]
        if rest == "|":
            result[key], lines = _literal(lines, indent)
        elif rest:
            result[key] = _scalar(number, rest)
        else:
            result[key], lines = _node(lines, indent)
        lines = _skip(lines)
    return result, lines


def _literal(lines, indent):
    inside = None
    text = []
    while lines:
        line = lines[0][1]
        if line.strip():
            if inside is None:
                inside = _indent(line)
            if _indent(line) < inside or inside <= indent:
                break
        text.append(line[inside or 0:])
        lines = lines[1:]
    while text and not text[-1].strip():
        text.pop()
    return "\n".join(text) + "\n", lines


def _scalar(number, text):
    if text.startswith('"'):
        return json.loads(text)
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text == "[]":
        return []
    if text[0] in "'[{&*!|>%@`" or ": " in text or " #" in text:
        raise YamlError(f"line {number}: not supported here: {text[:40]}")
    return text
