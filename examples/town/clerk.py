"""The clerk: a LangGraph graph behind AG-UI that asks where a defect is, and waits for the answer.

    uvicorn clerk:app --port 5002
"""

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def ask_for_place(state: MessagesState) -> MessagesState:
    defect = state["messages"][-1].text
    place = interrupt("Where is it?")
    reports = len([message for message in state["messages"] if message.type == "ai"]) + 1
    return {"messages": [AIMessage(f"Report {reports}: {defect}, at {place}. Thank you.")]}


builder = StateGraph(MessagesState)
builder.add_node("ask_for_place", ask_for_place)
builder.add_edge(START, "ask_for_place")
graph = builder.compile(checkpointer=MemorySaver())

app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="clerk", graph=graph), "/")
