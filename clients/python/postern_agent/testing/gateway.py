"""A real gateway in dev mode, with its simulated network, as a process beside a test."""

import json
import os
import re
import secrets
import shlex
import subprocess
import tempfile
import threading
import time
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Literal, Self, cast
from urllib.parse import urlencode

from ..operator import Operator
from ..replies import file_part
from ..types import FilePart, Part

#: Seconds that a gateway may take to start.
START_SECONDS = 60.0
#: Seconds that a test waits for the answer to a decision.
TURN_SECONDS = 10.0
#: Seconds that it may take to stop.
STOP_SECONDS = 15.0


class GatewayError(Exception):
    """The gateway did not start, or did not take a message."""


@dataclass(frozen=True)
class SentReply:
    """The outcome of a message that a test has sent."""

    id: str
    """The message's id; `gateway.operator.message(id)` shows it."""
    status: str
    """`answered`, `refused`, `no_reply`; over A2A the state of the task."""
    thread: str
    """Give it to the next `send` to go on there."""
    text: str
    """The words of the answer; empty if there is none."""
    raw: Any
    """The answer as the channel brought it: a mail's text, an activity, a task, the events of a run."""
    refusal: str | None
    """The gateway's reason, if it refused the message."""


@dataclass(frozen=True)
class InboxItem:
    """Something that reached a person of the simulated network."""

    via: str
    """`activitypub` or `email`."""
    type: str
    """`mail`, or the type of the activity: `Create` for a post, `Update`, `Delete`, `Like`, `Announce`, `Accept`."""
    sender: str
    """The IRI of the actor, or the `From` field of the mail."""
    subject: str | None
    """The subject of the mail, or the content warning of the post."""
    text: str
    files: list[FilePart]
    """Each holds its bytes: `read_file(part)` reads them."""
    id: str | None
    """The id to which a reply would refer."""


@dataclass(frozen=True)
class DecidedAnswer:
    """What an agent says when a decision has reached it."""

    number: int
    """The number of the message that the decision is; `gateway.operator.message(number)` shows it."""
    text: str
    """The words of the answer; empty if there is none."""
    parts: list[Part]
    """The parts of the answer, as the agent gave them."""


class StartedGateway:
    """A gateway that runs. Use it as a context manager, or call `stop()`."""

    def __init__(self, process: subprocess.Popen[str], url: str, token: str, temporary: Sequence[Any]) -> None:
        self.url = url
        """Where it listens, such as `http://127.0.0.1:40001`."""
        self.token = token
        """The operator's token."""
        self.operator = Operator(url, token)
        self._process = process
        self._temporary = temporary

    def send(
        self,
        to: str,
        text: str = "",
        *,
        via: str = "a2a",
        thread: str | None = None,
        sender: str | None = None,
        files: Iterable[FilePart] = (),
        visibility: str | None = None,
        timeout: float = 60,
    ) -> SentReply:
        """Sends a message that is really signed, and waits for the answer.

        `via` is `activitypub`, `a2a`, `email` or `web`. `files` are parts of `file_part(…)`. `sender` is one of
        `postern send --list`.
        """
        given = {"thread": thread, "from": sender, "visibility": visibility, "timeout_seconds": timeout}
        said = {name: value for name, value in given.items() if value is not None}
        body: dict[str, Any] = {"via": via, "to": to, "text": text, **said}
        carried = [describe_file(part) for part in files]
        if carried:
            body["files"] = carried
        sent = self.operator.call("POST", "/simulation/send", body, timeout=timeout + 30)
        reply = sent.get("reply") or {}
        refusal = sent.get("refusal")
        return SentReply(
            sent["id"], sent["status"], sent["thread"], reply.get("text", ""), reply.get("raw"), refusal and refusal["text"]
        )

    def inbox(self, persona: str) -> list[InboxItem]:
        """Everything that reached a person of the fediverse or a mailbox, in order: answers, and what agents write unasked.

        Raises OperatorError for somebody who has no inbox.
        """
        listed = self.operator.call("GET", f"/simulation/inbox?{urlencode({'persona': persona})}")
        return [read_item(item) for item in listed["items"]]

    def follow(self, persona: str, agent: str) -> None:
        """Lets a person of the fediverse follow an agent. Returns when the agent has accepted; raises OperatorError if not."""
        self.operator.call("POST", "/simulation/follow", {"persona": persona, "agent": agent})

    def decide(
        self, requirement: str | SentReply, outcome: Literal["granted", "declined"], arguments: Mapping[str, Any] | None = None
    ) -> DecidedAnswer:
        """Decides what an agent asks for, as whoever is asked: an approval as the operator, a consent as the person.

        `requirement` is its id, or the reply that asks for it. `arguments` are what the call of a tool runs with instead.
        Waits for the answer of the agent. Raises OperatorError for no such requirement, or one that cannot be decided.
        """
        named = {"message": requirement.id} if isinstance(requirement, SentReply) else {"requirement": requirement}
        changed = {} if arguments is None else {"arguments": arguments}
        decided = self.operator.call("POST", "/simulation/decide", {**named, "outcome": outcome, **changed})
        record = self._await_turn(decided["message"])
        parts = cast(list[Part], (record.get("response") or {}).get("parts", []))
        words = [part["content"] for part in parts if part["kind"] == "text"]
        return DecidedAnswer(decided["message"], "\n\n".join(words), parts)

    def _await_turn(self, number: int) -> Mapping[str, Any]:
        end = time.monotonic() + TURN_SECONDS
        while True:
            record = self.operator.message(number)
            if record["state"] not in ("received", "working") or time.monotonic() > end:
                return record
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends the gateway, and deletes its data."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for each in self._temporary:
            each.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def read_item(item: Mapping[str, Any]) -> InboxItem:
    files = [file_part(b64decode(file["data_base64"]), name=file["name"], mime=file["mime"]) for file in item["files"]]
    return InboxItem(item["via"], item["type"], item["from"], item.get("subject"), item["text"], files, item.get("id"))


def describe_file(part: FilePart) -> Mapping[str, str]:
    """Describes a file for the simulation. Raises ValueError for one without its bytes."""
    reference = part["bytes_ref"]
    if reference["kind"] != "inline":
        raise ValueError("A test sends files of file_part(…), which hold their bytes")
    mime = part.get("mime", "application/octet-stream")
    return {"name": part.get("name", "file"), "mime": mime, "data_base64": reference["data_base64"]}


def start_gateway(
    settings: Mapping[str, Any] | None = None,
    *,
    folder: str | os.PathLike[str] = ".",
    command: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> StartedGateway:
    """Starts `postern dev` on free ports with data of its own. Raises GatewayError with what it printed.

    `settings` is the configuration itself; without it, that of the file in `folder` counts. Paths in either start at
    `folder`. `command` starts the program; default: the variable `GATEWAY_COMMAND`, else `npx postern`.
    """
    data = tempfile.TemporaryDirectory(prefix="postern-test-")
    token = secrets.token_urlsafe(24)
    env = {
        **os.environ,
        **(environment or {}),
        "POSTERN_DATA": data.name,
        "POSTERN_LISTEN_PORT": "0",
        "POSTERN_EMAIL_LISTEN_PORT": "0",
        "POSTERN_OPERATOR_TOKEN": token,
    }
    words = shlex.split(command or os.environ.get("GATEWAY_COMMAND") or "npx postern")
    file = None if settings is None else SettingsFile(Path(folder), settings)
    temporary: list[Any] = [data] if file is None else [data, file]
    given = [] if file is None else ["--config", file.path.name]
    try:
        process = subprocess.Popen(
            [*words, *given, "dev"],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
    except OSError as error:
        for each in temporary:
            each.cleanup()
        raise GatewayError(f"Cannot start {shlex.join(words)}: {error}") from error
    try:
        return StartedGateway(process, wait_for_address(process), token, temporary)
    except BaseException:
        process.kill()
        process.wait()
        for each in temporary:
            each.cleanup()
        raise


class SettingsFile:
    """A configuration file beside those of the project, so that its paths start there."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.path = folder / f".postern-test-{secrets.token_hex(6)}.json"
        self.path.write_text(json.dumps(settings), encoding="utf-8")

    def cleanup(self) -> None:
        self.path.unlink(missing_ok=True)


def wait_for_address(process: subprocess.Popen[str]) -> str:
    """Waits until a gateway prints the address on which it listens. Raises GatewayError."""
    lines: Queue[str | None] = Queue()

    def read() -> None:
        # The thread reads to the end, since a full pipe would stop the gateway.
        for line in process.stdout or ():
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    printed: list[str] = []
    while True:
        try:
            line = lines.get(timeout=START_SECONDS)
        except Empty:
            raise GatewayError(f"The gateway did not start in {START_SECONDS:.0f} s: {''.join(printed)}") from None
        if line is None:
            raise GatewayError(f"The gateway did not start: {''.join(printed)}")
        printed.append(line)
        address = re.search(r"listens on (http://\S+)", line)
        if address:
            return address[1]
