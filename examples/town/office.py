"""The town office: a webhook agent beside the other routes of a FastAPI application, with a database of its own.

    WEBHOOK_SECRET=whsec_... TOWN_DB=town.db uvicorn office:app --port 5000
"""

import io
import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pandas as pd
from fastapi import FastAPI

from postern_agent import (
    CallContext,
    FileError,
    FilePart,
    Forgotten,
    Message,
    PolicyResolution,
    Reply,
    create_asgi_app,
    data_part,
    has_identity,
    read_file,
    refuse,
    require_consent,
    text_of,
)

from hours import HOURS, hours_of

WHAT = "example.town.what"


@contextmanager
def open_memory() -> Iterator[sqlite3.Connection]:
    """Opens the database of permits. Each handler runs in its own thread, so each opens its own connection."""
    with closing(sqlite3.connect(os.environ.get("TOWN_DB", "town.db"))) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS permits (turn TEXT PRIMARY KEY, person TEXT, thread TEXT, what TEXT)")
        yield db


def answer(message: Message, context: CallContext) -> Reply | str:
    decided = message.get("policy_resolution")
    if decided:
        return register(message, context, decided)
    files = [part for part in message["parts"] if part["kind"] == "file"]
    if files:
        return sum_up(files[0])
    words = text_of(message).strip()
    if words.lower().startswith("permit "):
        return ask_for_permit(message, words[len("permit ") :])
    if words.lower() == "my permits":
        return list_permits(message)
    days = [day for day in HOURS if day in words.lower()]
    return "\n".join(f"{day.title()}: {hours_of(day)}" for day in days or HOURS)


def ask_for_permit(message: Message, what: str) -> Reply:
    if not has_identity(message, assurance="address"):
        return refuse("A permit is for people whose address is proven.", code="unproven")
    question = f"A permit for {what} costs 30 euros. May we register it?"
    return require_consent(question, action_label="Yes, register it", code="permit", data={WHAT: what})


def register(message: Message, context: CallContext, decided: PolicyResolution) -> str:
    person = message.get("person")
    if decided.get("outcome") != "granted" or not person:
        return "Then we register nothing."
    what = decided.get("data", {}).get(WHAT, "")
    with open_memory() as db:
        # A turn may run twice, but it registers only one permit.
        row = (context.id, person["id"], message["thread_id"], what)
        db.execute("INSERT OR IGNORE INTO permits VALUES (?, ?, ?, ?)", row)
    return f"Your permit for {what} is registered."


def list_permits(message: Message) -> str:
    person = message.get("person")
    if not person:
        return "We know permits of people whose address is proven."
    with open_memory() as db:
        rows = db.execute("SELECT what FROM permits WHERE person = ? ORDER BY rowid", (person["id"],)).fetchall()
    return "\n".join(f"- {what}" for (what,) in rows) or "You have no permit."


def sum_up(part: FilePart) -> Reply | str:
    try:
        table = pd.read_csv(io.BytesIO(read_file(part)))
    except (FileError, ValueError):
        return "We cannot read this file. Please send a table as CSV."
    sums = {str(name): float(total) for name, total in table.sum(numeric_only=True).items()}
    # JSON knows no infinite number.
    totals = {name: total for name, total in sums.items() if math.isfinite(total)}
    lines = [f"{len(table)} rows", *(f"- {name}: {total:g}" for name, total in totals.items())]
    return {"parts": [{"kind": "text", "content": "\n".join(lines)}, data_part(totals, name="totals.json")]}


def forget(forgotten: Forgotten, context: CallContext) -> None:
    threads = json.dumps(forgotten["threads"])
    with open_memory() as db:
        query = "DELETE FROM permits WHERE person = ? OR thread IN (SELECT value FROM json_each(?))"
        db.execute(query, (forgotten.get("person"), threads))


app = FastAPI()
app.mount("/agent", create_asgi_app(answer, os.environ["WEBHOOK_SECRET"], forget=forget))


@app.get("/hours")
def show_hours() -> dict[str, str]:
    return HOURS
