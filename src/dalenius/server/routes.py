"""The routes: one table from which requests are authorised and checked, the contract is written and tests are made.

The contract: an OpenAPI 3.1 document, made from the table of routes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

from dalenius.ledger.tokens import MOST_DAYS, ROLES, Role
from dalenius.server.faults import STATUSES
from dalenius.server.schemas import (
    AMOUNT,
    ANY,
    FIGURE,
    FLAG,
    LINE,
    MOST_SQL,
    NAME,
    NUMBER,
    TEXT,
    Schema,
    array,
    either,
    mapping,
    one_of,
    record,
    whole,
)

ASKERS: tuple[Role, ...] = ("analyst", "owner")
READERS: tuple[Role, ...] = ("auditor", "owner")
OWNERS: tuple[Role, ...] = ("owner",)
ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
Lane = Literal["front", "quick", "charged", "job"]
"""Where a route is worked on: in the front process, or by a worker: soon, after a charge, or for long."""


@dataclass(frozen=True)
class Route:
    """An address, its method, and the roles that may use it; nobody else may. `roles` None is for anybody, unknown.

    `body` and `query` are the shapes of what is sent; without one nothing may be sent. `reply` is the shape of what is
    given, or None where it is no JSON; `media` lists the forms that it can have.
    """

    name: str
    method: Literal["GET", "POST", "DELETE"]
    path: str
    roles: tuple[Role, ...] | None
    summary: str
    reply: Schema | None
    lane: Lane = "quick"
    body: Schema | None = None
    query: Mapping[str, Schema] | None = None
    media: tuple[str, ...] = (JSON,)
    status: int = 200
    admin: bool = False

    @property
    def takes_key(self) -> bool:
        """Whether an attempt may be named by an idempotency key."""
        return self.lane in ("charged", "job") or self.name == "replay"


def _ask(*extra: str) -> Schema:
    """The body of a question, with the fields that this route takes besides the text and the price."""
    known: dict[str, Schema] = {
        "max_rows": whole(1, 2**40),
        "max_groups": whole(1, 2**40),
        "epsilon": NUMBER,
        "share": NUMBER,
        "error": either(NUMBER, mapping(NUMBER)),
        "size": whole(1, 2**53),
        "level": NUMBER,
        "weights": mapping(NUMBER),
        "nonnegative": FLAG,
        "digits": whole(0, 30),
        "fresh": FLAG,
    }
    # All fields are known on all routes, so that one body fits each; those of no use must be null or left out.
    unused: Schema = {"type": "null"}
    taken = ("max_rows", "max_groups", "epsilon", "share", *extra)
    optional = {name: schema if name in taken else unused for name, schema in known.items()}
    return record(sql={"type": "string", "minLength": 1, "maxLength": MOST_SQL}, optional=optional)


_DAYS = whole(1, MOST_DAYS)
_SHARES, _AMOUNTS = mapping(FIGURE), mapping(AMOUNT)
_BALANCE = mapping(record(share=FIGURE, amount=AMOUNT))
_ANSWER: Schema = {
    "type": "object",
    "description": "card, columns with values and error bars, level, charge, receipt, derivation and notes",
}
_RECEIPT: Schema = {"type": "object", "description": "who was charged what for which question, and when"}
_RUN_FIELDS = ("error", "size", "level", "weights", "nonnegative", "digits", "fresh")
_PAGE: Mapping[str, Schema] = {"after": whole(0, 2**53), "most": whole(1, 10_000)}
_NEXT = either(whole(0, 2**53), {"type": "null"})
_JOB = {"job": NAME, "state": one_of("running", "done", "stopped"), "seconds": whole(0, 2**53)}
_JOB_STATE = record(
    **_JOB,
    optional={"answer": _ANSWER, "left": TEXT, "replayed": FLAG, "error": {"type": "object"}, "percent": ANY},
)

ROUTES: tuple[Route, ...] = (
    Route("health", "GET", "/v1/health", None, "Whether the server answers", record(status=TEXT), "front"),
    Route("openapi", "GET", "/v1/openapi.json", None, "This contract", {"type": "object"}, "front"),
    Route("registry", "GET", "/v1/registry", None, "The epsilon registry", {"type": "object"}),
    Route("registry_csv", "GET", "/v1/registry.csv", None, "The registry as CSV", None, media=("text/csv",)),
    Route("registry_html", "GET", "/v1/registry.html", None, "The registry as a page", None, media=("text/html",)),
    Route(
        "catalog", "GET", "/v1/catalog", ROLES, "The tables that may be asked about",
        record(who=NAME, role=one_of(*ROLES), tables=mapping(record(about=TEXT, columns=mapping(TEXT)))),
    ),
    Route("balance", "GET", "/v1/balance", ROLES, "What is left and spent", record(left=_BALANCE, spent=_BALANCE)),
    Route(
        "price", "POST", "/v1/price", ASKERS, "What an answer would cost; nothing is read or spent",
        record(
            loss=TEXT, amounts=_AMOUNTS, shares=_SHARES, left=mapping(ANY), now=_SHARES, epsilons=_SHARES,
            affordable=FLAG, note=ANY, blocks=mapping(TEXT), more=ANY, text=TEXT,
        ),
        body=_ask("error", "size", "level", "weights"),
    ),
    Route(
        "expected_error", "POST", "/v1/expected-error", ASKERS, "The error bars to expect; nothing is read or spent",
        record(columns=mapping(record(text=TEXT, level=FIGURE, fixed=ANY, at=ANY))),
        body=_ask("error", "size", "level", "weights"),
    ),
    Route(
        "explain", "POST", "/v1/explain", ASKERS, "The derivation of an answer; nothing is read or spent",
        record(derivation=TEXT), body=_ask("weights"),
    ),
    Route(
        "rehearse", "POST", "/v1/rehearse", ASKERS, "The answer on made-up rows; nothing is read or spent",
        record(answer=_ANSWER), body=_ask("level"),
    ),
    Route(
        "run", "POST", "/v1/run", ASKERS, "Charge and answer, or replay what was answered before",
        record(answer=_ANSWER, left=TEXT, replayed=FLAG), "charged", _ask(*_RUN_FIELDS), media=(JSON, ARROW),
    ),
    Route(
        "start_job", "POST", "/v1/jobs", ASKERS, "Charge and answer, without waiting for it", record(**_JOB),
        "job", _ask(*_RUN_FIELDS), status=202,
    ),
    Route("job", "GET", "/v1/jobs/{id}", ASKERS, "How a job stands", _JOB_STATE, "front"),
    Route("stop_job", "DELETE", "/v1/jobs/{id}", ASKERS, "Stop a job; its charge stays", record(**_JOB), "front"),
    Route(
        "receipts", "GET", "/v1/receipts", ROLES, "What was charged: the own receipts, or all for owner and auditor",
        record(receipts=array(_RECEIPT), next=_NEXT), query=_PAGE,
    ),
    Route(
        "receipt", "GET", "/v1/receipts/{id}", ROLES, "A receipt, its stored answer and its release card",
        record(receipt=_RECEIPT, answer=ANY, card=ANY), media=(JSON, ARROW),
    ),
    Route(
        "replays", "GET", "/v1/replays", ASKERS, "The stored answers, which cost nobody's privacy anything more",
        record(
            replays=array({"type": "object", "description": "receipt, asked, at, charged and versions of tables"}),
            next=_NEXT,
        ),
        query=_PAGE,
    ),
    Route(
        "replay", "POST", "/v1/replays/{id}", ASKERS, "One of them; it counts against quotas where the grant says so",
        record(answer=_ANSWER, left=TEXT, replayed=FLAG), media=(JSON, ARROW),
    ),
    Route(
        "card", "GET", "/v1/cards/{id}", ASKERS, "The release card of a stored answer",
        record(card={"type": "object"}),
    ),
    Route(
        "ledger", "GET", "/v1/ledger", READERS, "The entries of the ledger",
        record(entries=array({"type": "object"}), next=_NEXT), query=_PAGE,
    ),
    Route("metrics", "GET", "/v1/metrics", READERS, "Figures for Prometheus", None, "front", media=("text/plain",)),
    Route(
        "grant", "POST", "/admin/v1/grants", OWNERS, "Let an analyst ask about tables",
        record(analyst=NAME, tables=array(NAME)), admin=True,
        body=record(
            analyst=NAME, tables=array(NAME),
            optional={
                "share": NUMBER, "study": NAME, "most_epsilon": NUMBER, "until": NAME, "pays_for_replays": FLAG,
                "rate": record(count=whole(1, 2**31), seconds=whole(1, 2**31)),
            },
        ),
    ),
    Route(
        "revoke_grant", "DELETE", "/admin/v1/grants/{analyst}", OWNERS, "End a grant and its holder's tokens",
        record(revoked=NAME), admin=True,
    ),
    Route(
        "token", "POST", "/admin/v1/tokens", OWNERS, "A new token, shown this once",
        record(who=NAME, role=one_of(*ROLES), days=_DAYS, token=TEXT), admin=True,
        body=record(who=NAME, optional={"role": one_of(*ROLES), "days": _DAYS}),
    ),
    Route(
        "revoke_tokens", "DELETE", "/admin/v1/tokens/{who}", OWNERS, "End the tokens that somebody holds",
        record(revoked=NAME), admin=True,
    ),
    Route(
        "study", "POST", "/admin/v1/studies", OWNERS, "Open a quota that several analysts share",
        record(study=NAME), admin=True,
        body=record(
            name=NAME, population=NAME, share=NUMBER,
            optional={"reserve": NUMBER, "start": NAME, "end": NAME, "purpose": LINE},
        ),
    ),
)  # fmt: skip


def permitted(route: Route, role: Role | None) -> bool:
    """Whether somebody in this role may use a route; None is somebody without a token. Nobody may by default."""
    return route.roles is None or (role is not None and role in route.roles)


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
