"""Access to the forms: a user who may start the DAG of a pipeline may start a form for that pipeline.

Airflow itself checks only whether a user may start the DAG of the form, which works for every pipeline. The user of a
request is known in the API server alone, not in tasks. So this check stands before the requests that start a form.
"""

from __future__ import annotations

import json
import re

from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.core_api.security import resolve_user_from_token
from airflow.configuration import conf
from fastapi import HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tidemark_airflow.jobs.links import dag_id
from tidemark_airflow.jobs.pipeline_files import ACCEPT, BACKFILL
from tidemark_airflow.quality import access

_STARTS = re.compile(rf"/dags/({dag_id(BACKFILL)}|{dag_id(ACCEPT)})/dagRuns/*\Z")


class FormAccess(BaseHTTPMiddleware):
    """Refuses a request that starts a form for a pipeline whose DAG the user may not start."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Pass the request on, or answer it with the status 403."""
        if request.method != "POST" or _STARTS.search(request.scope["path"]) is None:
            return await call_next(request)
        pipeline = _pipeline(await request.body())
        # Airflow refuses a form without a pipeline. Without users, everybody may start everything.
        if pipeline is None or conf.getboolean("core", "simple_auth_manager_all_admins", fallback=False):
            return await call_next(request)
        try:
            user = await _user(request)
        except HTTPException as problem:
            return JSONResponse({"detail": problem.detail}, problem.status_code)
        if await run_in_threadpool(access.may_start, user, pipeline):
            return await call_next(request)
        return JSONResponse({"detail": "Forbidden"}, 403)


def _pipeline(body: bytes) -> str | None:
    """Return the pipeline that a form names; None if it names none."""
    try:
        content = json.loads(body)
    except ValueError:
        return None
    filled = content.get("conf") if isinstance(content, dict) else None
    name = filled.get("pipeline") if isinstance(filled, dict) else None
    return None if name is None else str(name)


async def _user(request: Request) -> BaseUser:
    """Return the user, by the token that Airflow too takes first. Raises HTTPException without a valid token."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer" and token
    return await resolve_user_from_token(token if is_bearer else request.cookies.get(COOKIE_NAME_JWT_TOKEN))
