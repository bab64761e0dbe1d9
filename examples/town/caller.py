"""The library's program: it calls the office by A2A, alone or as a tool of its own agent.

    LIBRARY_KEY=... python caller.py "When are you open on Monday?"
"""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest
from pydantic_ai import Agent
from pydantic_ai.models import Model

ORIGIN = "https://town.example"


class DevGateway(httpx.AsyncHTTPTransport):
    """Sends requests for the origin to the gateway on this machine. A client in production needs no such transport."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = httpx.URL(os.environ.get("GATEWAY", "http://127.0.0.1:8787"))
        request.url = request.url.copy_with(scheme=url.scheme, host=url.host, port=url.port)
        return await super().handle_async_request(request)


@asynccontextmanager
async def open_office() -> AsyncIterator[Client]:
    headers = {"X-API-Key": os.environ["LIBRARY_KEY"], "A2A-Version": "1.0"}
    async with httpx.AsyncClient(transport=DevGateway(), headers=headers, timeout=60) as http:
        path = "/agents/office/.well-known/agent-card.json"
        card = await A2ACardResolver(http, ORIGIN, path).get_agent_card()
        yield ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)


async def ask_office(question: str) -> str:
    """Asks the town office."""
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=question)])
    async with open_office() as office:
        tasks = [event.task async for event in office.send_message(SendMessageRequest(message=message))]
    answer_parts = [part for task in tasks for artifact in task.artifacts for part in artifact.parts]
    question_parts = [part for task in tasks for part in task.status.message.parts]
    return "\n".join(part.text for part in [*answer_parts, *question_parts] if part.text)


def create_librarian(model: Model | str) -> Agent:
    return Agent(model, instructions="You help people in the library.", tools=[ask_office])


if __name__ == "__main__":
    print(asyncio.run(ask_office(" ".join(sys.argv[1:]))))
