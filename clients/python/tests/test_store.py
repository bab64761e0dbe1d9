"""Against a running gateway: POSTERN_URL and POSTERN_TOKEN say which, and as whom."""

import json
import os
import pathlib
import sqlite3
import unittest
import uuid
from typing import Any, Callable, Dict, List, Optional
from urllib.request import Request, urlopen

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
    create_final_entry,
    create_global_observation_entry,
    create_synthesis_entry,
    create_task_entry,
    create_user_message,
    get_message_type_info,
    prepare_history_from_job_data,
)
from postern_store import constants
from postern_store.utils import message_builder

URL = os.environ["POSTERN_URL"]
TOKEN = os.environ["POSTERN_TOKEN"]


def open_store() -> PosternMessageStore:
    return PosternMessageStore(URL, TOKEN)


def new_location() -> str:
    return f"job/{uuid.uuid4()}:messages/../x"


def types_of(messages: List[Dict[str, Any]]) -> List[str]:
    return [message["type"] for message in messages]


EXAMPLE = (pathlib.Path(__file__).parent / "seed_example.py").read_text(encoding="utf-8")
USAGE = "# Usage in implementation:"


def run_example(db_connection: Any, store_of: Optional[Callable[[Any], BaseMessageStore]] = None) -> Dict[str, Any]:
    """The published example, word for word: over its own store, or with its usage over another."""
    names: Dict[str, Any] = {"db_connection": db_connection, "planner": lambda task, history: [], "workers": {}, "policies": {}}
    definition, usage = EXAMPLE.split(USAGE)
    exec(compile(definition, "seed_example.py", "exec"), names)
    if store_of is not None:
        names["DatabaseMessageStore"] = store_of
    exec(compile(usage, "seed_example.py", "exec"), names)
    return names


class SeedExample(unittest.TestCase):
    def test_runs_on_its_own_store(self) -> None:
        db = sqlite3.connect(":memory:")
        db.row_factory = sqlite3.Row
        columns = "location, agent_key, type, content, timestamp, turn_id, tool, args, from_worker, from_manager, summary"
        db.execute(f"CREATE TABLE messages ({columns})")
        rows = [
            ("job_123", None, "assistant_message", "Two", 2.0),
            ("job_123", None, "user_message", "List all tables", 1.0),
            ("job_123", "orchestrator", "task", "list", 1.5),
            ("job_123", "other", "task", "not mine", 1.5),
            ("job_123", "other", "global_observation", "for all", 1.7),
        ]
        db.executemany("INSERT INTO messages (location, agent_key, type, content, timestamp) VALUES (?, ?, ?, ?, ?)", rows)
        names = run_example(db)
        history = names["memory"].get_history()
        self.assertEqual([message["content"] for message in history], ["List all tables", "Two", "list", "for all"])
        team = names["message_store"].get_team_messages("job_123", ["orchestrator", "other"])
        self.assertEqual([message["agent_key"] for message in team], ["orchestrator", "other", "other"])
        self.assertIs(names["agent"].memory, names["memory"])

    def test_its_usage_runs_on_the_gateway(self) -> None:
        store, task = open_store(), f"list {uuid.uuid4()}"
        names = run_example(store, lambda db_connection: db_connection)
        names["agent"].run(task, turn_id="turn_1")
        own = store.get_agent_messages("job_123", "orchestrator", tail=2)
        self.assertEqual([message["type"] for message in own], ["task", "final"])
        self.assertIn(own[0], names["memory"].get_history())
        self.assertEqual(own[0]["content"], task)


class Views(unittest.TestCase):
    def setUp(self) -> None:
        self.store, self.location = open_store(), new_location()

    def test_S_01_S_04_S_05_every_type_returns_unchanged(self) -> None:
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

    def test_S_06_S_08_S_10_each_view_has_only_its_messages(self) -> None:
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

    def test_S_07_S_09_the_gateway_sets_times_and_types_select_messages(self) -> None:
        builders = [getattr(message_builder, info["builder"]) for info in AVAILABLE_MESSAGE_TYPES.values()]
        names = {"tool_name": "t", "tool_args": {}, "worker": "w", "task": "t", "from_manager": "m", "plan": {}}
        required = [info["required"] for info in AVAILABLE_MESSAGE_TYPES.values()]
        messages = [build(**{name: names.get(name, "x") for name in needs}) for build, needs in zip(builders, required)]
        for message in messages:
            del message["timestamp"]
        self.store.add_messages(self.location, messages, "worker")
        own = self.store.get_agent_messages(self.location, "worker")
        self.assertTrue(all(isinstance(message["timestamp"], (int, float)) for message in own))
        spoken = {"user_message", "assistant_message", "synthesis", "global_observation"}
        self.assertEqual(set(types_of(own)), set(AVAILABLE_MESSAGE_TYPES) - spoken)
        seed = ["task", "action", "observation", "error", "final", "delegation"]
        self.assertEqual(set(types_of(self.store.get_agent_messages(self.location, "worker", types=seed))), set(seed))

    def test_S_14_locations_do_not_leak(self) -> None:
        self.store.add_messages(self.location, [create_user_message("mine")])
        for other in (self.location + "/", self.location.split("/")[0], self.location.replace(":", "")):
            self.assertEqual(self.store.get_conversation_messages(other), [])

    def test_S_02_S_03_malformed_messages_are_refused_with_the_name_of_the_field(self) -> None:
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

    def test_S_16_S_18_S_19_history_is_read_in_blocks_and_additions_are_stored(self) -> None:
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

    def test_S_16_the_timeline_is_sorted_by_time_in_any_notation(self) -> None:
        memory = MessageStoreMemory(self.store, self.location, "worker")
        for timestamp in (3.0, "1970-01-01T00:00:02Z", "1970-01-01T00:00:01"):
            memory.add({"type": "task", "content": timestamp, "timestamp": timestamp})
        self.store.add_messages(self.location, [create_user_message(2.5, timestamp=2.5)])
        said = [message["content"] for message in memory.get_history(order="timeline")]
        self.assertEqual(said, ["1970-01-01T00:00:01", "1970-01-01T00:00:02Z", 2.5, 3.0])

    def test_S_19_the_manager_turns_other_messages_into_broadcasts(self) -> None:
        worker = MessageStoreMemory(self.store, self.location, "worker")
        worker.add_global({"found": 10})
        worker.add_global(create_task_entry("mine", timestamp=1.0))
        seen = MessageStoreMemory(self.store, self.location, "other").get_history()
        self.assertEqual(types_of(seen), ["global_observation", "global_observation"])
        self.assertEqual([message["from_worker"] for message in seen], ["worker", "worker"])
        self.assertEqual([seen[0]["content"], seen[1]["content"]["content"]], [{"found": 10}, "mine"])
        self.assertEqual(worker.get_history(), seen)

    def test_S_17_a_manager_without_subordinates_requests_no_team(self) -> None:
        self.store.get_team_messages = None  # type: ignore[assignment]
        manager = HierarchicalMessageStoreMemory(self.store, self.location, "manager", [])
        self.assertEqual(manager.get_history(), [])

    def test_a_manager_stores_its_own_messages(self) -> None:
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
    def test_S_01_constants_have_the_seeds_names(self) -> None:
        names = "user_message assistant_message task action observation error final synthesis strategic_plan suggested_plan script_plan"
        names += " delegation global_observation director_context injected_context script_instruction"
        self.assertEqual([getattr(constants, name.upper()) for name in names.split()], names.split())
        self.assertEqual(set(AVAILABLE_MESSAGE_TYPES), set(names.split()))

    def test_S_26_the_seeds_example_calls_produce_its_example_messages(self) -> None:
        at: Dict[str, Any] = {"timestamp": 1234567890.5, "turn_id": "turn_1"}
        said = create_user_message(content="List all tables", **at)
        self.assertEqual(said, {"type": "user_message", "content": "List all tables", **at})
        done = create_action_entry(tool_name="list_tables", tool_args={"schema": "public"}, **at)
        self.assertEqual(done, {"type": "action", "tool": "list_tables", "args": {"schema": "public"}, **at})
        given = message_builder.create_delegation_entry(worker="powerbi-analysis", task="List all tables", **at)
        self.assertEqual(given, {"type": "delegation", "worker": "powerbi-analysis", "task": "List all tables", **at})

    def test_S_26_each_builder_sets_exactly_its_fields(self) -> None:
        plain = ("user_message", "assistant_message", "task", "observation", "final", "director_context")
        plain += ("injected_context", "script_plan", "suggested_plan", "script_instruction", "strategic_plan")
        cases = [(name, ("c",), {}, {"content": "c"}, {}) for name in plain]
        cases += [
            ("action", ("ls", {"a": 1}), {}, {"tool": "ls", "args": {"a": 1}}, {}),
            ("error", ("c",), {"error_type": "E"}, {"content": "c"}, {"error_type": "E"}),
            ("delegation", ("w", "t"), {}, {"worker": "w", "task": "t"}, {}),
            ("synthesis", ("c", "m"), {"phase_id": 0}, {"content": "c", "from_manager": "m"}, {"phase_id": 0}),
            ("global_observation", ("c",), {"from_worker": "w", "summary": "s"}, {"content": "c"}, {"from_worker": "w", "summary": "s"}),
        ]
        self.assertEqual({case[0] for case in cases}, set(AVAILABLE_MESSAGE_TYPES))
        for name, arguments, options, fields, further in cases:
            build = getattr(message_builder, AVAILABLE_MESSAGE_TYPES[name]["builder"])
            with self.subTest(name):
                empty = {option: "" for option in options if option != "phase_id"}
                bare = build(*arguments, turn_id="", **empty)
                self.assertIsInstance(bare.pop("timestamp"), float)
                self.assertEqual(bare, {"type": name, **fields})
                whole = build(*arguments, timestamp=1.5, turn_id="t", step=2, **options)
                self.assertEqual(whole, {"type": name, **fields, **further, "timestamp": 1.5, "turn_id": "t", "step": 2})

    def test_S_27_S_28_timestamp_0_stays_and_the_builder_sets_the_type(self) -> None:
        self.assertEqual(create_task_entry("x", timestamp=0), {"type": "task", "content": "x", "timestamp": 0})
        with self.assertRaises(ValueError):
            create_final_entry("x", **{"type": "task"})

    def test_the_record_of_a_job_has_its_messages(self) -> None:
        said = [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}, "junk", {"role": ["user"]}, {"role": "assistant", "content": "c", "at": 1}]
        traces = [{"type": "task", "content": "d"}, {"type": "final", "content": "e"}, {"type": "action", "tool": "f"}, {"type": "action", "tool": "g", "args": {}}]
        self.assertEqual(
            prepare_history_from_job_data({"conversation": said, "traces": traces}),
            [
                {"type": "user_message", "content": "a"},
                {"type": "assistant_message", "content": "c", "at": 1},
                {"type": "task", "content": "d"},
                {"type": "action", "tool": "g", "args": {}},
            ],
        )
        self.assertEqual(prepare_history_from_job_data({}), [])

    def test_S_29_S_30_the_catalogue(self) -> None:
        self.assertEqual(len(AVAILABLE_MESSAGE_TYPES), 16)
        self.assertIsNone(get_message_type_info("nope"))
        for name, info in AVAILABLE_MESSAGE_TYPES.items():
            self.assertIs(get_message_type_info(name), info)
            self.assertTrue(info["description"])
            arguments = {argument: {} if argument == "tool_args" else "x" for argument in info["required"]}
            built = getattr(message_builder, info["builder"])(**arguments)
            self.assertEqual(set(built), {"type", "timestamp", *info["fields"]})

    def test_S_30_the_catalogue_is_the_gateways(self) -> None:
        request = Request(f"{URL}/v1/store-types", headers={"authorization": f"Bearer {TOKEN}"})
        with urlopen(request) as answer:
            types = json.load(answer)["types"]
        self.assertEqual(list(types), list(AVAILABLE_MESSAGE_TYPES))
        for name, info in AVAILABLE_MESSAGE_TYPES.items():
            self.assertEqual(types[name]["required_fields"], info["fields"])


if __name__ == "__main__":
    unittest.main()
