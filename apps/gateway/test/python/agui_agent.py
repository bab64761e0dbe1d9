"""Serves a Pydantic AI agent over AG-UI with a made-up model, which calls a tool for questions about stock and counts its messages."""

from collections.abc import AsyncIterator

from fastapi import FastAPI, Request, Response
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter


async def think(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    requests = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    prompts = [part for part in requests if isinstance(part, UserPromptPart)]
    last = requests[-1]
    if isinstance(last, ToolReturnPart):
        yield "There are "
        yield f"{last.content} left."
    elif "stock" in str(prompts[-1].content):
        yield {0: DeltaToolCall(name="count_stock", json_args='{"what": "cake"}', tool_call_id="call_1")}
    else:
        yield f"You said {len(prompts)} things, "
        yield f"the last one was: {prompts[-1].content}"


agent = Agent(FunctionModel(stream_function=think))


@agent.tool_plain
def count_stock(what: str) -> int:
    """How many there are."""
    return len(what)


app = FastAPI()


@app.post("/")
async def run(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)


@app.post("/broken")
async def broken(request: Request) -> Response:
    def fail() -> None:
        raise RuntimeError("hunter2")

    return await AGUIAdapter.dispatch_request(request, agent=Agent(FunctionModel(stream_function=fail)))
