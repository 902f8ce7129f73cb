"""YAML as plain data: no aliases, no anchors, no repeated keys, no tags, no dates, bounded size and depth.

The only importer of PyYAML. Aliases allow exponential growth ("billion laughs"), repeated keys let two readers
see two documents, and tags name constructors; a rule file or a skill's front matter needs none of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from skillkeep.auditor.errors import AuditError

if TYPE_CHECKING:
    import yaml

__all__ = ["load_yaml"]

_HINT = "Write plain YAML: unique keys, no anchors or aliases, no tags."


def load_yaml(text: str, *, max_bytes: int = 1 << 20, max_depth: int = 24) -> Any:
    """Parse one YAML document into dicts, lists, strings, numbers, booleans and None.

    Raises `AuditError` (`bad_yaml`) with the line in its context where the text goes wrong.
    """
    if len(text) > max_bytes:
        raise _bad(f"it is larger than {max_bytes} characters", 0)
    import yaml

    loader_type = _loader_type()
    try:
        _check_events(text, max_depth)
        loader = loader_type(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _bad(error.problem or error.context or "it is malformed", mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise _bad(str(error).splitlines()[0] if str(error) else "it is malformed", 0) from error


def _check_events(text: str, max_depth: int) -> None:
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_base()):
        if isinstance(event, yaml.AliasEvent):
            raise _bad("it uses an alias", _line(event))
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise _bad("it uses an anchor", _line(event))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > max_depth:
                raise _bad(f"it is nested deeper than {max_depth}", _line(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _base() -> type[yaml.SafeLoader]:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _loader_type() -> type[yaml.SafeLoader]:
    import yaml

    class StrictLoader(_base()):  # type: ignore[misc]  # the base is chosen at run time
        """SafeLoader that refuses repeated keys, merge keys and keys that are not scalars."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen: set[Any] = set()
            for key_node, _ in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    raise _bad("it uses a merge key", key_node.start_mark.line + 1)
                if not isinstance(key_node, yaml.ScalarNode):
                    raise _bad("a key is not a plain value", key_node.start_mark.line + 1)
                key = self.construct_object(key_node)
                if key in seen:
                    raise _bad(f"the key {key!r} is repeated", key_node.start_mark.line + 1)
                seen.add(key)
            mapping: dict[Any, Any] = yaml.constructor.BaseConstructor.construct_mapping(self, node, deep=True)
            return mapping

    StrictLoader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":value"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    allowed = ("null", "bool", "int", "float", "str", "seq", "map")
    StrictLoader.yaml_constructors = {
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in allowed
    }
    StrictLoader.add_constructor("tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node))
    return StrictLoader


def _bad(what: str, line: int) -> AuditError:
    return AuditError("bad_yaml", f"the YAML cannot be used: {what}", _HINT, line=line)
