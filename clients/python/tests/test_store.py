"""Against a running gateway: POSTERN_URL and POSTERN_TOKEN say which, and as whom."""

import os
import sqlite3
import unittest
import uuid
from typing import Any, Dict, List, Optional

from postern_store import (
    BaseMessageStore,
    HierarchicalMessageStoreMemory,
    ManagerAgent,
    MessageStoreError,
    MessageStoreMemory,
    PosternMessageStore,
)
from postern_store.utils.message_builder import (
    AVAILABLE_MESSAGE_TYPES,
    create_action_entry,
    create_assistant_message,
    create_delegation_entry,
    create_final_entry,
    create_global_observation_entry,
    create_observation_entry,
    create_synthesis_entry,
    create_task_entry,
    create_user_message,
    get_message_type_info,
)
from postern_store.utils import message_builder

URL = os.environ["POSTERN_URL"]
TOKEN = os.environ["POSTERN_TOKEN"]


def open_store() -> PosternMessageStore:
    return PosternMessageStore(URL, TOKEN)


def new_location() -> str:
    return f"job/{uuid.uuid4()}:messages/../x"


def types_of(messages: List[Dict[str, Any]]) -> List[str]:
    return [message["type"] for message in messages]


class DatabaseMessageStore(BaseMessageStore):
    """A store of somebody's own, as the format's guide shows it."""

    def __init__(self, db_connection: sqlite3.Connection) -> None:
        self.db = db_connection
        self.db.row_factory = sqlite3.Row
        self.db.execute("CREATE TABLE messages (location, agent_key, type, content, timestamp REAL, turn_id)")

    def _select(self, where: str, values: List[Any], limit: Optional[int]) -> List[Dict[str, Any]]:
        query = f"SELECT type, content, timestamp, turn_id, agent_key FROM messages WHERE {where} ORDER BY timestamp ASC"
        if limit:
            query += f" LIMIT {limit}"
        return [dict(row) for row in self.db.execute(query, values).fetchall()]

    def get_conversation_messages(self, location: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        return self._select("location = ? AND type IN ('user_message', 'assistant_message')", [location], limit)

    def get_agent_messages(self, location: str, agent_key: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        return self._select("location = ? AND agent_key = ?", [location, agent_key], limit)

    def get_global_messages(self, location: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        return self._select("location = ? AND type IN ('global_observation', 'synthesis')", [location], limit)

    def get_team_messages(
        self, location: str, agent_keys: List[str], limit: Optional[int] = None
    ) -> List[Dict[str, Any]]:
        marks = ",".join("?" * len(agent_keys))
        return self._select(f"location = ? AND agent_key IN ({marks})", [location, *agent_keys], limit)


class SeedExample(unittest.TestCase):
    def run_example(self, message_store: BaseMessageStore, location: str) -> MessageStoreMemory:
        memory = MessageStoreMemory(message_store=message_store, location=location, agent_key="orchestrator")
        agent = ManagerAgent(planner=lambda task, history: [], memory=memory, workers={}, policies={})
        self.assertIs(agent.memory, memory)
        return memory

    def test_runs_on_a_store_of_ones_own(self) -> None:
        store = DatabaseMessageStore(sqlite3.connect(":memory:"))
        values = ("job_123", "", "user_message", "List all tables", 1234567890.0, "turn_1")
        store.db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", values)
        history = self.run_example(store, "job_123").get_history()
        self.assertEqual([message["content"] for message in history], ["List all tables"])

    def test_runs_on_the_gateway(self) -> None:
        store, location = open_store(), new_location()
        user_msg = create_user_message(content="List all tables", timestamp=1234567890.0, turn_id="turn_1")
        store.add_messages(location, [user_msg])
        self.assertEqual(self.run_example(store, location).get_history(), [user_msg])


class Views(unittest.TestCase):
    def setUp(self) -> None:
        self.store, self.location = open_store(), new_location()

    def test_S_01_S_04_S_05_every_type_comes_back_as_it_was(self) -> None:
        messages = []
        for index, (name, info) in enumerate(AVAILABLE_MESSAGE_TYPES.items()):
            build = getattr(message_builder, info["builder"])
            value = [{"a": [1, None, "ü"]}, "text", ["list"], 5][index % 4]
            given = {field: {"x": 1} if field == "tool_args" else "name" if field != "content" else value for field in info["required"]}
            messages.append(build(**given, timestamp=1000.5 + index, turn_id="t", extra_key={"kept": True}))
        self.assertEqual(len(messages), 16)
        self.store.add_messages(self.location, messages, "worker")
        read = [
            *self.store.get_conversation_messages(self.location),
            *self.store.get_agent_messages(self.location, "worker"),
            *self.store.get_global_messages(self.location),
        ]
        by_type = {message["type"]: message for message in read}
        for message in messages:
            stored = dict(by_type[message["type"]])
            stored.pop("agent_key", None)
            self.assertEqual(stored, message)

    def test_S_06_S_08_S_10_views_are_apart(self) -> None:
        self.store.add_messages(self.location, [create_user_message("hi"), create_assistant_message("ho")])
        self.store.add_messages(self.location, [create_task_entry("t"), create_action_entry("ls", {})], "worker-1")
        self.store.add_messages(self.location, [create_task_entry("u")], "worker-12")
        self.store.add_messages(self.location, [create_global_observation_entry("seen"), create_synthesis_entry("s", "m")], "m")
        self.assertEqual(types_of(self.store.get_conversation_messages(self.location)), ["user_message", "assistant_message"])
        self.assertEqual(types_of(self.store.get_agent_messages(self.location, "worker-1")), ["task", "action"])
        self.assertEqual(types_of(self.store.get_global_messages(self.location)), ["global_observation", "synthesis"])

    def test_S_11_S_12_S_13_limits_count_the_oldest_tail_the_newest(self) -> None:
        for key in ("a", "b"):
            entries = [create_task_entry(f"{key}{index}", timestamp=100.0 + index) for index in range(4)]
            self.store.add_messages(self.location, entries, key)
        said = lambda messages: [message["content"] for message in messages]
        self.assertEqual(said(self.store.get_agent_messages(self.location, "a", limit=2)), ["a0", "a1"])
        self.assertEqual(said(self.store.get_agent_messages(self.location, "a", tail=2)), ["a2", "a3"])
        self.assertEqual(len(self.store.get_agent_messages(self.location, "a", limit=0)), 4)
        self.assertEqual(len(self.store.get_team_messages(self.location, ["a", "b"], limit=2)), 2)
        each = self.store.get_team_messages(self.location, ["a", "b"], limit=2, limit_scope="per_agent")
        self.assertEqual(sorted((message["agent_key"], message["content"]) for message in each), [("a", "a0"), ("a", "a1"), ("b", "b0"), ("b", "b1")])
        self.assertEqual(self.store.get_team_messages(self.location, []), [])

    def test_S_14_locations_do_not_leak(self) -> None:
        self.store.add_messages(self.location, [create_user_message("mine")])
        for other in (self.location + "/", self.location.split("/")[0], self.location.replace(":", "")):
            self.assertEqual(self.store.get_conversation_messages(other), [])

    def test_S_02_S_03_what_is_not_well_formed_is_refused_by_its_field(self) -> None:
        cases = (
            ({"type": "nonsense", "content": "x"}, "type"),
            ({"type": "action", "tool": "ls"}, "args"),
            ({"type": "delegation", "worker": "w"}, "task"),
            ({"type": "synthesis", "content": "x"}, "from_manager"),
            ({"type": "user_message"}, "content"),
        )
        for message, field in cases:
            with self.subTest(field), self.assertRaises(MessageStoreError) as caught:
                self.store.add_messages(self.location, [create_user_message("ok"), message])
            self.assertEqual((caught.exception.code, caught.exception.status), ("malformed", 400))
            self.assertIn(field, str(caught.exception))
        self.assertEqual(self.store.get_conversation_messages(self.location), [])

    def test_a_wrong_token_is_refused(self) -> None:
        with self.assertRaises(MessageStoreError) as caught:
            PosternMessageStore(URL, "nonsense").get_global_messages(self.location)
        self.assertEqual(caught.exception.status, 401)


class Memories(unittest.TestCase):
    def setUp(self) -> None:
        self.store, self.location = open_store(), new_location()

    def test_S_15_empty_arguments_are_refused(self) -> None:
        for arguments in ((None, "l", "k"), (self.store, "", "k"), (self.store, "l", "")):
            with self.assertRaises(ValueError):
                MessageStoreMemory(*arguments)

    def test_S_16_S_18_S_19_history_in_blocks_and_what_is_added_is_stored(self) -> None:
        worker = MessageStoreMemory(self.store, self.location, "worker")
        manager = HierarchicalMessageStoreMemory(self.store, self.location, "manager", ["worker"])
        manager.add_global(create_global_observation_entry("all may know", timestamp=1.0))
        worker.add(create_task_entry("work", timestamp=2.0))
        manager.add(create_task_entry("manage", timestamp=3.0))
        self.store.add_messages(self.location, [create_user_message("hello", timestamp=4.0)])
        said = lambda messages: [message["content"] for message in messages]
        self.assertEqual(said(worker.get_history()), ["hello", "work", "all may know"])
        self.assertEqual(said(manager.get_history()), ["hello", "manage", "work", "all may know"])
        self.assertEqual(said(manager.get_history(order="timeline")), ["all may know", "work", "manage", "hello"])

    def test_a_manager_writes_down_what_it_has_done(self) -> None:
        memory = HierarchicalMessageStoreMemory(self.store, self.location, "manager", ["schema"])

        def fail(task: str) -> None:
            raise RuntimeError("no connection")

        agent = ManagerAgent(
            planner=lambda task, history: [("schema", "list tables"), ("broken", "x"), ("denied", "y")],
            memory=memory,
            workers={"schema": lambda task: ["users"], "broken": fail, "denied": len},
            policies={"careful": lambda worker, task: worker != "denied"},
        )
        results = agent.run("describe the database", turn_id="turn_1", phase_id=0)
        self.assertEqual(results["schema"], ["users"])
        self.assertEqual(results["broken"], {"error": "no connection"})
        self.assertEqual(results["denied"], {"error": "denied by careful"})
        trace = self.store.get_agent_messages(self.location, "manager")
        self.assertEqual(types_of(trace), ["task", *["delegation", "observation"] * 3, "final"])
        [synthesis] = self.store.get_global_messages(self.location)
        self.assertEqual((synthesis["from_manager"], synthesis["phase_id"]), ("manager", 0))


class Builders(unittest.TestCase):
    def test_S_26_S_27_S_28_exact_fields(self) -> None:
        self.assertEqual(create_task_entry("x", timestamp=0, turn_id=""), {"type": "task", "content": "x", "timestamp": 0})
        self.assertEqual(
            create_delegation_entry(worker="w", task="t", timestamp=1, turn_id="1"),
            {"type": "delegation", "worker": "w", "task": "t", "timestamp": 1, "turn_id": "1"},
        )
        self.assertEqual(set(create_observation_entry([1])), {"type", "content", "timestamp"})
        self.assertEqual(create_synthesis_entry("s", "m", phase_id=0, timestamp=1)["phase_id"], 0)
        with self.assertRaises(ValueError):
            create_final_entry("x", **{"type": "task"})

    def test_S_29_S_30_the_catalogue(self) -> None:
        self.assertEqual(len(AVAILABLE_MESSAGE_TYPES), 16)
        self.assertIsNone(get_message_type_info("nope"))


if __name__ == "__main__":
    unittest.main()
