"""Runs the agent of these tests on a real server, which a real gateway calls."""

from collections.abc import Iterator
from typing import Any

import pytest

from postern_agent import (
    CallContext,
    Message,
    Reply,
    create_wsgi_app,
    data_part,
    file_part,
    read_file,
    refuse,
    require_consent,
    require_payment,
    text_of,
)
from postern_agent.testing import serve

pytest_plugins = ["postern_agent.testing.fixtures"]
SECRET = "whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz"
REPLIES: dict[str, Reply] = {
    "ask": require_consent("May I?", action_label="Yes"),
    "price": require_payment("Please pay.", amount="4.50", currency="EUR"),
    "no": refuse("We are closed."),
    "file": {"parts": [file_part(b"a,b", name="list.csv"), data_part({"left": 4}, name="stock.json")]},
}


def answer(message: Message, context: CallContext) -> Reply | str:
    text = text_of(message)
    files = [f"{part.get('name')}: {read_file(part).decode()}" for part in message["parts"] if part["kind"] == "file"]
    if text in REPLIES:
        return REPLIES[text]
    resolution = message.get("policy_resolution")
    if resolution:
        return f"You said {resolution.get('outcome')}."
    is_in_time = context.deadline is not None and not context.cancelled
    return f"You said: {text} {files} in time: {is_in_time}"


@pytest.fixture(scope="session")
def gateway_settings() -> Iterator[dict[str, Any]]:
    """Serves the agent, and returns the settings with which the plugin starts the gateway."""
    with serve(create_wsgi_app(answer, SECRET)) as url:
        yield {"agents": {"py": {"use": "webhook", "url": url, "secret": SECRET}}}
