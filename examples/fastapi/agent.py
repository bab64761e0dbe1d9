"""An agent beside the other routes of a FastAPI application.

    pip install postern-agent fastapi uvicorn
    WEBHOOK_SECRET=whsec_... uvicorn agent:app --port 5000

The agent's `url` in the gateway is http://127.0.0.1:5000/agent/.
"""

import os

from fastapi import FastAPI

from postern_agent import CallContext, Message, Reply, create_asgi_app, has_identity, text_of

OPEN_ORDERS = {"4711": "is on its way", "4712": "waits for the baker"}


async def answer(message: Message, context: CallContext) -> Reply:
    number = text_of(message).strip().removeprefix("order ")
    # Decide by identities, never by a name or a profile.
    if not has_identity(message, assurance="address"):
        return {"text": "I tell that to people whose address is proven.", "status": "rejected"}
    state = OPEN_ORDERS.get(number)
    if state is None:
        return {"text": "Which order? Say `order 4711`, for example.", "status": "input_required"}
    return {"text": f"Order {number} {state}."}


app = FastAPI()
app.mount("/agent", create_asgi_app(answer, os.environ["WEBHOOK_SECRET"]))


@app.get("/orders/{number}")
async def show_order(number: str) -> dict[str, str]:
    return {"number": number, "state": OPEN_ORDERS.get(number, "unknown")}
