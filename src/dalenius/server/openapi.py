"""The contract: an OpenAPI 3.1 document, made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from dalenius.server.faults import STATUSES
from dalenius.server.routes import Route


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """What the routes take and give, and who may use them."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dalenius",
            "version": version("dalenius"),
            "description": "Questions about everyone and about no one. Replies leave at times and in lengths that no "
            "row decides; numbers that count travel as text.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _error()},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    content = {media: {"schema": route.reply if media.endswith("json") else {}} for media in route.media}
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": _parameters(route),
        "security": [] if route.roles is None else [{"token": []}],
        "x-roles": None if route.roles is None else list(route.roles),
        "responses": {str(route.status): {"description": route.summary, "content": content}, "default": _failed()},
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.body}}}
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    found += [{"name": name, "in": "query", "schema": schema} for name, schema in (route.query or {}).items()]
    if route.takes_key:
        found += [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 200}}]
    return found


def _failed() -> dict[str, Any]:
    return {
        "description": "An error of the fixed vocabulary",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _error() -> dict[str, Any]:
    said = {
        "code": {"type": "string", "enum": list(STATUSES)},
        "type": {"type": "string"},
        "message": {"type": "string"},
    }
    error = {"type": "object", "properties": said, "required": list(said)}
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}
