from typing import Any, List, Optional, Sequence

from .message_store import BaseMessageStore, Message


class MessageStoreMemory:
    """What one agent remembers of a location. What is added through it is stored, where the store can."""

    def __init__(self, message_store: BaseMessageStore, location: str, agent_key: str) -> None:
        for name, value in (("message_store", message_store), ("location", location), ("agent_key", agent_key)):
            if not value:
                raise ValueError(f"{name} must not be empty")
        self.message_store = message_store
        self.location = location
        self.agent_key = agent_key

    def get_history(self, order: str = "blocks") -> List[Message]:
        """Conversation, own trace, what is global: one block after the other, or merged by time (``timeline``)."""
        history = [message for block in self._blocks() for message in block]
        return sorted(history, key=lambda message: message.get("timestamp", 0)) if order == "timeline" else history

    def add(self, message: Message) -> None:
        """Into the agent's own trace."""
        self._write([message], self.agent_key)

    def add_global(self, message: Message) -> None:
        """For every agent of the location."""
        self._write([message], self.agent_key)

    def _blocks(self) -> Sequence[List[Message]]:
        store, location = self.message_store, self.location
        return (
            store.get_conversation_messages(location),
            store.get_agent_messages(location, self.agent_key),
            store.get_global_messages(location),
        )

    def _write(self, messages: List[Message], agent_key: str) -> None:
        add: Any = getattr(self.message_store, "add_messages", None)
        if add is None:
            raise TypeError("this message store can only be read")
        add(self.location, messages, agent_key)


class HierarchicalMessageStoreMemory(MessageStoreMemory):
    """A manager's memory: its subordinates' traces stand between its own and what is global."""

    def __init__(
        self,
        message_store: BaseMessageStore,
        location: str,
        agent_key: str,
        subordinates: Optional[Sequence[str]] = None,
    ) -> None:
        super().__init__(message_store, location, agent_key)
        self.subordinates = list(subordinates or [])

    def _blocks(self) -> Sequence[List[Message]]:
        conversation, own, everybody = super()._blocks()
        if not self.subordinates:
            return conversation, own, everybody
        team = self.message_store.get_team_messages(self.location, self.subordinates)
        return conversation, own, team, everybody
