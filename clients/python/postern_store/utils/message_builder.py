"""Builders of well-formed messages: one for each of the sixteen types.

Every builder takes `timestamp` (seconds since the epoch; default: now; 0 is a time like any other), `turn_id` (left out
when empty) and further members, which never replace what the builder itself writes.
"""

import time
from collections.abc import Callable
from typing import Any

from .. import constants
from ..message_store import Message


def build_message(
    type_: str, fields: Message, timestamp: float | None, turn_id: str | None, extra: Message
) -> Message:
    """Builds a message of a type. Raises ValueError if `extra` names another type."""
    if "type" in extra:
        raise ValueError("the type of a message is its builder's")
    message: Message = {**extra, "type": type_, **fields}
    message["timestamp"] = time.time() if timestamp is None else timestamp
    if turn_id:
        message["turn_id"] = turn_id
    return message


def content_builder(type_: str) -> Callable[..., Message]:
    """Returns the builder of a type that has a content and nothing else."""

    def build(content: Any, timestamp: float | None = None, turn_id: str | None = None, **extra: Any) -> Message:
        return build_message(type_, {"content": content}, timestamp, turn_id, extra)

    build.__doc__ = f"Builds a message of the type `{type_}`."
    return build


create_user_message = content_builder(constants.USER_MESSAGE)
create_assistant_message = content_builder(constants.ASSISTANT_MESSAGE)
create_task_entry = content_builder(constants.TASK)
create_observation_entry = content_builder(constants.OBSERVATION)
create_final_entry = content_builder(constants.FINAL)
create_director_context_entry = content_builder(constants.DIRECTOR_CONTEXT)
create_injected_context_entry = content_builder(constants.INJECTED_CONTEXT)
create_script_plan_entry = content_builder(constants.SCRIPT_PLAN)
create_suggested_plan_entry = content_builder(constants.SUGGESTED_PLAN)
create_script_instruction_entry = content_builder(constants.SCRIPT_INSTRUCTION)


def create_strategic_plan_entry(
    plan: Any, timestamp: float | None = None, turn_id: str | None = None, **extra: Any
) -> Message:
    """Builds a plan that the agent made."""
    return build_message(constants.STRATEGIC_PLAN, {"content": plan}, timestamp, turn_id, extra)


def create_action_entry(
    tool_name: str,
    tool_args: dict[str, Any],
    timestamp: float | None = None,
    turn_id: str | None = None,
    **extra: Any,
) -> Message:
    """Builds the call of a tool."""
    return build_message(constants.ACTION, {"tool": tool_name, "args": tool_args}, timestamp, turn_id, extra)


def create_error_entry(
    content: Any,
    error_type: str | None = None,
    timestamp: float | None = None,
    turn_id: str | None = None,
    **extra: Any,
) -> Message:
    """Builds an error; `error_type` names its kind."""
    fields = {"content": content, **({"error_type": error_type} if error_type else {})}
    return build_message(constants.ERROR, fields, timestamp, turn_id, extra)


def create_delegation_entry(
    worker: str, task: str, timestamp: float | None = None, turn_id: str | None = None, **extra: Any
) -> Message:
    """Builds the delegation of a task to a worker."""
    return build_message(constants.DELEGATION, {"worker": worker, "task": task}, timestamp, turn_id, extra)


def create_synthesis_entry(
    content: Any,
    from_manager: str,
    phase_id: int | None = None,
    timestamp: float | None = None,
    turn_id: str | None = None,
    **extra: Any,
) -> Message:
    """Builds a manager's summary of its workers."""
    phase = {} if phase_id is None else {"phase_id": phase_id}
    fields = {"content": content, "from_manager": from_manager, **phase}
    return build_message(constants.SYNTHESIS, fields, timestamp, turn_id, extra)


def create_global_observation_entry(
    content: Any,
    from_worker: str | None = None,
    summary: str | None = None,
    timestamp: float | None = None,
    turn_id: str | None = None,
    **extra: Any,
) -> Message:
    """Builds an observation for every agent."""
    optional = {name: value for name, value in (("from_worker", from_worker), ("summary", summary)) if value}
    return build_message(constants.GLOBAL_OBSERVATION, {"content": content, **optional}, timestamp, turn_id, extra)


def describe_type(
    description: str,
    builder: str,
    required: list[str],
    optional: list[str] | None = None,
    fields: list[str] | None = None,
) -> Message:
    """Describes a type in the catalogue.

    `required` and `optional` are the builder's arguments; `fields` are the members that a message must have beside its type.
    """
    return {
        "description": description,
        "builder": builder,
        "required": required,
        "optional": [*(optional or []), "timestamp", "turn_id"],
        "fields": fields or required,
    }


AVAILABLE_MESSAGE_TYPES: dict[str, Message] = {
    constants.USER_MESSAGE: describe_type("What the user said", "create_user_message", ["content"]),
    constants.ASSISTANT_MESSAGE: describe_type("What the assistant answered", "create_assistant_message", ["content"]),
    constants.TASK: describe_type("Start of a turn of execution", "create_task_entry", ["content"]),
    constants.ACTION: describe_type("Call of a tool", "create_action_entry", ["tool_name", "tool_args"], fields=["tool", "args"]),
    constants.OBSERVATION: describe_type("What a tool gave", "create_observation_entry", ["content"]),
    constants.ERROR: describe_type("What went wrong", "create_error_entry", ["content"], ["error_type"]),
    constants.FINAL: describe_type("End of the work", "create_final_entry", ["content"]),
    constants.SYNTHESIS: describe_type(
        "A manager's summary of its workers", "create_synthesis_entry", ["content", "from_manager"], ["phase_id"]
    ),
    constants.STRATEGIC_PLAN: describe_type("A plan made here", "create_strategic_plan_entry", ["plan"], fields=["content"]),
    constants.SUGGESTED_PLAN: describe_type("A plan given from outside", "create_suggested_plan_entry", ["content"]),
    constants.SCRIPT_PLAN: describe_type("A plan with steps", "create_script_plan_entry", ["content"]),
    constants.SCRIPT_INSTRUCTION: describe_type("A given script", "create_script_instruction_entry", ["content"]),
    constants.DELEGATION: describe_type("Work given to a worker", "create_delegation_entry", ["worker", "task"]),
    constants.GLOBAL_OBSERVATION: describe_type(
        "Told to every agent", "create_global_observation_entry", ["content"], ["from_worker", "summary"]
    ),
    constants.DIRECTOR_CONTEXT: describe_type("Context for a manager", "create_director_context_entry", ["content"]),
    constants.INJECTED_CONTEXT: describe_type("Context for an agent", "create_injected_context_entry", ["content"]),
}


def get_message_type_info(type_: str) -> Message | None:
    """Finds the catalogue's row of a type; None for an unknown one."""
    return AVAILABLE_MESSAGE_TYPES.get(type_)


JOB_ROLES = {"user": constants.USER_MESSAGE, "assistant": constants.ASSISTANT_MESSAGE}
JOB_TRACES = (constants.TASK, constants.ACTION, constants.OBSERVATION)


def prepare_history_from_job_data(job: Message) -> list[Message]:
    """Reads the record of a job as messages, and leaves out everything else without an error.

    Of its `conversation` it takes what user and assistant said, of its `traces` tasks, actions and observations.
    """
    said = [
        {**{name: value for name, value in turn.items() if name != "role"}, "type": JOB_ROLES[turn["role"]]}
        for turn in list_maps(job.get("conversation"))
        if turn.get("role") in tuple(JOB_ROLES)
    ]
    traces = [dict(trace) for trace in list_maps(job.get("traces")) if trace.get("type") in JOB_TRACES]
    return [message for message in [*said, *traces] if has_fields(message)]


def list_maps(value: Any) -> list[Message]:
    """Lists the objects of a JSON list; none of any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def has_fields(message: Message) -> bool:
    """Returns True if a message has the members that its type requires."""
    return all(name in message for name in AVAILABLE_MESSAGE_TYPES[message["type"]]["fields"])
