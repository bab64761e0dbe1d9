"""Serves graphs of LangGraph that wait for a person, by `ag-ui-langgraph` with its defaults. They repeat the answers that they get."""

import operator
from collections.abc import Callable
from typing import Annotated, Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

app = FastAPI()

class State(MessagesState):
    answers: Annotated[list[str], operator.add]


Node = Callable[[State], dict[str, Any]]


def tell(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage(content=", ".join(sorted(state["answers"])))]}


def serve(path: str, *nodes: Node, **options: bool) -> None:
    """Serves a graph whose nodes run concurrently."""
    builder = StateGraph(State)
    builder.add_node("tell", tell)
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    builder.add_edge([node.__name__ for node in nodes], "tell")
    graph = builder.compile(checkpointer=MemorySaver())
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="graph", graph=graph, **options), path)


def ask(value: Any, name: str = "node", **options: Any) -> Node:
    def node(state: State) -> dict[str, Any]:
        return {"answers": [f"{name} got {interrupt(value, **options)!r}"]}

    node.__name__ = name
    return node


def fail(state: State) -> dict[str, Any]:
    raise RuntimeError(f"hunter2 {interrupt('Which order?')}")


approval = {
    "message": "Refund 20 euros?",
    "response_schema": {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]},
}
order = {
    "question": "Which order?",
    "response_schema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}
together = (ask("Which size?", "one"), ask({"amount": 20, "currency": "EUR"}, "two"))

serve("/text", ask("What is your name?"))
serve("/order", ask(order))
serve("/approval", ask(approval))
serve("/approval-outcome", ask(approval), emit_interrupt_outcome=True)
serve("/together", *together)
serve("/together-outcome", *together, enable_legacy_on_interrupt_event=False)
serve("/fail", fail)


class Approval(BaseModel):
    approved: bool


class Order(BaseModel):
    number: int


serve("/checked-approval", ask("Refund 20 euros?", response_schema=Approval))
serve("/checked-order", ask("Which order?", response_schema=Order))


@tool
def refund(euros: int) -> str:
    """Pays money back."""
    return f"refunded {euros}"


class Refunder(BaseChatModel):
    """A made-up model that calls its tool twice, and reports the results."""

    @property
    def _llm_type(self) -> str:
        return "refunder"

    def bind_tools(self, *_: Any, **__: Any) -> "Refunder":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        results = sorted(str(message.content)[:12] for message in messages if message.type == "tool")
        calls = [{"name": "refund", "args": {"euros": euros}, "id": f"c{euros}"} for euros in (20, 30)]
        answer = AIMessage(", ".join(results)) if results else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])


for mode in ("batched", "per_call"):
    review = HumanInTheLoopMiddleware(interrupt_on={"refund": True}, interrupt_mode=mode)
    agent = create_agent(Refunder(), tools=[refund], middleware=[review], checkpointer=MemorySaver())
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="graph", graph=agent), f"/{mode}")
