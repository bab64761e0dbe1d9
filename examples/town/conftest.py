"""What the tests of the town run: its servers on free ports, a made-up model, and a gateway before them."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from postern_agent.testing import serve

pytest_plugins = ["postern_agent.testing.fixtures"]

FOLDER = Path(__file__).parent
SECRET = "whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz"
model = FastAPI()


@model.post("/v1/chat/completions")
def complete(body: dict[str, Any]) -> StreamingResponse:
    """A model that asks the tool for the hours of Thursday, and says what the tool said."""
    last = body["messages"][-1]
    call = {"name": "opening_hours", "arguments": json.dumps({"day": "Thursday"})}
    delta: dict[str, Any] = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}
    if last["role"] == "tool":
        delta = {"content": f"The tool says {last['content']}"}
    reason = "stop" if "content" in delta else "tool_calls"
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return StreamingResponse([f"data: {json.dumps(chunk)}\n\n", "data: [DONE]\n\n"], media_type="text/event-stream")


@pytest.fixture(scope="session")
def gateway_folder() -> Path:
    return FOLDER


@pytest.fixture(scope="session")
def gateway_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    key = "key-of-the-library"
    given = {"WEBHOOK_SECRET": SECRET, "LIBRARY_KEY": key, "TOWN_DB": str(tmp_path_factory.mktemp("town") / "town.db")}
    os.environ.update(given)
    import clerk
    import office

    settings: dict[str, Any] = json.loads((FOLDER / "postern.config.json").read_text())
    agents = settings["agents"]
    settings["a2a"]["auth"]["api_keys"][0]["sha256"] = hashlib.sha256(key.encode()).hexdigest()
    agents["guide"]["mcp"][0]["command"] = sys.executable
    with ExitStack() as servers:
        agents["office"]["url"] = f"{servers.enter_context(serve(office.app))}agent/"
        agents["clerk"]["url"] = servers.enter_context(serve(clerk.app))
        agents["guide"]["base_url"] = f"{servers.enter_context(serve(model))}v1"
        yield settings
