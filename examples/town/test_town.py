"""The town behind a real gateway: what citizens and programs write, and what they get."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from pydantic_ai.models.test import TestModel

from caller import ask_office, create_librarian
from postern_agent import file_part
from postern_agent.testing import SentReply, StartedGateway

Send = Callable[..., SentReply]


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not happen in 30 s"
        time.sleep(0.05)


@pytest.mark.parametrize("via", ["email", "activitypub", "a2a", "web"])
def test_the_office_tells_its_hours_by_every_channel(send: Send, via: str) -> None:
    assert "Monday: 8 to 12" in send("office", "When are you open on Monday?", via=via).text


def test_a_table_of_a_citizen_is_summed_up(send: Send) -> None:
    reply = send("office", files=[file_part(Path(__file__).with_name("lamps.csv"))])
    assert "2 rows\n- lamps: 7\n- cost: 3.5" in reply.text
    assert {"lamps": 7, "cost": 3.5} in [part["content"].get("value") for part in reply.raw["artifacts"][0]["parts"]]
    assert "cannot read" in send("office", files=[file_part(b"", name="empty.csv")]).text


def decide(gateway: StartedGateway, asked: SentReply, decision: str) -> None:
    found = re.search(r"https://town\.example(/actions/\S+)", asked.text)
    assert found, asked.text
    urlopen(gateway.url + found[1], urlencode({"decision": decision}).encode()).close()


@pytest.mark.parametrize(("decision", "said"), [("grant", "is registered"), ("decline", "register nothing")])
def test_a_permit_waits_for_a_yes(gateway: StartedGateway, send: Send, decision: str, said: str) -> None:
    asked = send("office", "permit street party", via="email")
    assert "May we register it?" in asked.text
    decide(gateway, asked, decision)
    wait_for(lambda: said in str(gateway.operator.transcript(asked.id)))


def test_the_office_knows_the_permits_of_a_person_until_they_want_to_be_forgotten(
    gateway: StartedGateway, send: Send
) -> None:
    def permits() -> str:
        return send("office", "my permits", via="email").text

    decide(gateway, send("office", "permit bonfire", via="email"), "grant")
    wait_for(lambda: "- bonfire" in permits())
    assert "no permit" in send("office", "my permits", via="activitypub").text
    send("office", "forget me", via="email")
    wait_for(lambda: "no permit" in permits())


def test_the_clerk_asks_where_a_defect_is_and_remembers_the_conversation(send: Send) -> None:
    thread = None
    for number, place in enumerate(["High Street", "Mill Lane"], 1):
        asked = send("clerk", "A lamp is out", via="email", thread=thread)
        assert "Where is it?" in asked.text
        thread = asked.thread
        told = send("clerk", place, via="email", thread=thread).text
        assert f"Report {number}: A lamp is out, at {place}" in told


def test_the_guide_looks_up_the_hours_with_its_tool(send: Send) -> None:
    text = send("guide", "When are you open on Thursday?").text
    assert "The tool says" in text and "14 to 18" in text


def test_the_library_asks_the_office_by_a2a(gateway: StartedGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", gateway.url)
    assert asyncio.run(ask_office("Are you open on Friday?")) == "Friday: 8 to 12"
    assert "proven" in asyncio.run(ask_office("permit fireworks"))
    assert next(gateway.operator.messages(agent="office", channel="a2a"))["sender"].startswith("@library")
    librarian = create_librarian(TestModel())
    assert "Monday: 8 to 12" in asyncio.run(librarian.run("Is the office open?")).output
