"""A real gateway, the real client of its operator, and an agent in Python."""

import time
import pytest

from postern_agent import file_part, read_file
from postern_agent.operator import Operator, OperatorError
from postern_agent.testing import GatewayError, start_gateway


@pytest.mark.parametrize("via", ["activitypub", "a2a", "email", "web"])
def test_a_signed_message_gets_its_answer_by_every_channel(send, via):
    first = send("py", "hello", via=via)
    assert "You said: hello" in first.text
    assert "You said: again" in send("py", "again", via=via, thread=first.thread).text


def test_an_agent_reads_the_files_that_a_test_sends(send):
    assert "list.csv: a,b" in send("py", files=[file_part(b"a,b", name="list.csv")]).text


def test_an_agent_knows_how_long_the_gateway_waits(send):
    assert send("py", "hello").text.endswith("in time: True")


def test_replies_ask_refuse_and_carry_files(send):
    assert [send("py", text).status for text in ("ask", "price", "no")] == ["input_required", "input_required", "rejected"]
    parts = send("py", "file").raw["artifacts"][0]["parts"]
    assert [part["filename"] for part in parts] == ["list.csv", "stock.json"]
    assert parts[1]["content"] == {"$case": "data", "value": {"left": 4}}


def test_a_decision_reaches_the_agent_and_its_answer_comes_back(gateway, send):
    asked = send("py", "ask")
    assert gateway.decide(asked, "granted").text == "You said granted."
    with pytest.raises(OperatorError) as again:
        gateway.decide(asked, "granted")
    assert again.value.code == "forbidden"
    priced = gateway.operator.message(send("py", "price", via="email").id)
    requirement = next(
        each["policy"]["requirement"] for each in priced["response"]["parts"] if each["kind"] == "policy"
    )
    declined = gateway.decide(requirement, "declined")
    assert declined.text == "You said declined."
    assert gateway.operator.message(declined.number)["response"]["parts"] == declined.parts


def until_types(gateway, persona, types):
    end = time.monotonic() + 60
    while True:
        inbox = gateway.inbox(persona)
        if {item.type for item in inbox} >= types:
            return inbox
        assert time.monotonic() < end, inbox
        time.sleep(0.1)


def test_a_person_follows_an_agent_and_has_an_inbox(gateway, send):
    gateway.follow("alice@mastodon.test", "py")
    send("py", "hello", via="activitypub", sender="alice@mastodon.test")
    # The acceptance and the answer are delivered side by side.
    inbox = until_types(gateway, "alice@mastodon.test", {"Accept", "Create"})
    answer = next(item for item in inbox if item.type == "Create")
    assert ("activitypub", True) == (answer.via, "You said: hello" in answer.text)
    send("py", "file", via="email", sender="alice@alice.test")
    mail = gateway.inbox("alice@alice.test")[-1]
    assert (mail.type, [read_file(file) for file in mail.files][:1]) == ("mail", [b"a,b"])
    with pytest.raises(OperatorError, match="has no inbox") as nobody:
        gateway.inbox("agent")
    assert nobody.value.status == 404


def test_a_refused_message_says_why(send):
    refused = send("nobody", "hello", via="email")
    assert (refused.status, refused.text) == ("refused", "")
    assert refused.refusal


def test_the_operator_reads_messages_page_by_page_and_one_with_its_answer(gateway, send):
    sent = [send("py", f"message {index}").id for index in range(3)]
    listed = [message["id"] for message in gateway.operator.messages(channel="a2a", agent="py")]
    assert listed[:3] == sent[::-1]
    assert "message 2" in str(gateway.operator.message(sent[2])["response"])
    small = Operator(gateway.url, gateway.token)
    small.page_size = 1
    assert [message["id"] for message in small.messages(channel="a2a", agent="py")] == listed


def test_a_transcript_has_what_was_said(gateway, send):
    first = send("py", "one")
    send("py", "two", thread=first.thread)
    said = [each["content"] for each in gateway.operator.transcript(first.id)]
    assert [said[0], said[2]] == ["one", "two"]
    assert said[1].startswith("You said: one")


def test_conversations_lead_to_their_transcripts(gateway, send):
    first = send("py", "where it began")
    send("py", "where it goes on", thread=first.thread)
    send("py", "another one", via="email")
    newest, before = [conversation for conversation, _ in zip(gateway.operator.conversations(agent="py"), range(2))]
    assert (newest["via"], before["via"]) == ("email", "a2a")
    said = [each["content"] for each in gateway.operator.transcript(before) if each["type"] == "user_message"]
    assert said == ["where it began", "where it goes on"]
    listed = next(gateway.operator.messages(channel="email"))
    assert gateway.operator.transcript(listed) == gateway.operator.transcript(newest)
    with pytest.raises(OperatorError) as unknown:
        next(gateway.operator.conversations(agent="nobody"))
    assert unknown.value.status == 404


def test_events_go_on_behind_the_last_one_that_was_seen(gateway, send):
    events = gateway.operator.events()
    assert next(events).kind == "ready"
    sent = send("py", "hello")
    seen = next(event for event in events if event.kind == "message" and event.data["id"] == sent.id)
    events.close()
    later = send("py", "and again")
    again = gateway.operator.events(seen.id)
    ids = (event.data["id"] for event in again if event.kind == "message")
    assert next(identifier for identifier in ids if identifier != sent.id) == later.id
    again.close()


def test_a_refusal_of_the_operators_api_has_its_code_and_its_words(gateway):
    with pytest.raises(OperatorError, match="there is no message with this id") as missing:
        gateway.operator.message("nothing")
    assert (missing.value.code, missing.value.status) == ("no_recipient", 404)
    with pytest.raises(OperatorError) as stranger:
        Operator(gateway.url, "another").message(1)
    assert stranger.value.status == 401
    with pytest.raises(OperatorError, match="cannot be reached") as lost:
        Operator("http://127.0.0.1:9", "token").message(1)
    assert (lost.value.code, lost.value.status) == ("unreachable", None)


@pytest.mark.parametrize("url", ["http://agents.example", "http://127.0.0.1.agents.example:8787", "ftp://127.0.0.1"])
def test_the_operators_token_leaves_only_over_https_or_to_this_machine(url):
    with pytest.raises(ValueError, match="cannot send the operator token to .* in clear text"):
        Operator(url, "token")
    for safe in ["https://agents.example", "http://localhost:8787", "http://127.0.0.1:8787/", "http://[::1]:8787"]:
        Operator(safe, "token")


def test_a_gateway_that_does_not_start_says_why(tmp_path):
    with pytest.raises(GatewayError, match="agents.py.use"):
        start_gateway({"agents": {"py": {"use": "nothing of this kind"}}}, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
