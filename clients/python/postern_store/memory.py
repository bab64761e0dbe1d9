"""The memory of one agent over a message store: its views of a location, joined to one history."""

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from .constants import GLOBAL_TYPES
from .message_store import BaseMessageStore, Message
from .utils.message_builder import create_global_observation_entry


def seconds_of(message: Message) -> float:
    """Returns the time of a message: seconds since the epoch, or a text in ISO 8601. Any other value comes before all."""
    timestamp = message.get("timestamp")
    if isinstance(timestamp, (int, float)):
        return timestamp
    try:
        time = datetime.fromisoformat(str(timestamp).replace("Z", "+00:00"))
    except ValueError:
        return 0
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()


class MessageStoreMemory:
    """The memory of one agent in one location. It stores what is added through it, if the store can."""

    def __init__(self, message_store: BaseMessageStore, location: str, agent_key: str) -> None:
        """Raises ValueError for a store, location or key that is empty."""
        for name, value in (("message_store", message_store), ("location", location), ("agent_key", agent_key)):
            if not value:
                raise ValueError(f"{name} must not be empty")
        self.message_store = message_store
        self.location = location
        self.agent_key = agent_key

    def get_history(self, order: str = "blocks") -> list[Message]:
        """Reads the conversation, the agent's own trace and the global messages.

        The blocks follow each other (`blocks`), or are merged by time (`timeline`).
        """
        history = [message for block in self._blocks() for message in block]
        return sorted(history, key=seconds_of) if order == "timeline" else history

    def add(self, message: Message) -> None:
        """Adds a message to the agent's own trace. Raises TypeError for a store that can only be read."""
        self._write([message], self.agent_key)

    def add_global(self, message: Any) -> None:
        """Adds a message for every agent of the location; a value that is no broadcast becomes a `global_observation`."""
        is_broadcast = isinstance(message, dict) and message.get("type") in GLOBAL_TYPES
        entry = message if is_broadcast else create_global_observation_entry(message, from_worker=self.agent_key)
        self._write([entry], self.agent_key)

    def _blocks(self) -> Sequence[list[Message]]:
        store, location = self.message_store, self.location
        return (
            store.get_conversation_messages(location),
            store.get_agent_messages(location, self.agent_key),
            store.get_global_messages(location),
        )

    def _write(self, messages: list[Message], agent_key: str) -> None:
        add: Any = getattr(self.message_store, "add_messages", None)
        if add is None:
            raise TypeError("this message store can only be read")
        add(self.location, messages, agent_key)


class HierarchicalMessageStoreMemory(MessageStoreMemory):
    """The memory of a manager: its subordinates' traces stand between its own and the global messages."""

    def __init__(
        self,
        message_store: BaseMessageStore,
        location: str,
        agent_key: str,
        subordinates: Sequence[str] | None = None,
    ) -> None:
        super().__init__(message_store, location, agent_key)
        self.subordinates = list(subordinates or [])

    def _blocks(self) -> Sequence[list[Message]]:
        conversation, own, everybody = super()._blocks()
        if not self.subordinates:
            return conversation, own, everybody
        team = self.message_store.get_team_messages(self.location, self.subordinates)
        return conversation, own, team, everybody
