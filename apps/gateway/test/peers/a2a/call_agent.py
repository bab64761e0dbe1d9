"""
Calls an agent with the client of the a2a-sdk package, and continues the task when the agent asks a question.
Usage: call_agent.py ORIGIN CARD_PATH BINDING (streams|waits) KEY TEXT...; prints the answer to each text as JSON.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState
from a2a.utils.signing import create_signature_verifier
from jwt.api_jwk import PyJWK

question_states = {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}


def join_text(parts):
    return ''.join(part.text for part in parts)


class AnswerReader:
    """Assembles the events of one answer by the rules of the protocol."""

    def __init__(self):
        self.task_id = self.context_id = self.message = ''
        self.state = None
        self.artifacts = {}
        self.events = []

    def add_event(self, event):
        kind = event.WhichOneof('payload')
        self.events.append(kind)
        value = getattr(event, kind)
        if kind == 'message':
            self.message = join_text(value.parts)
            return
        self.task_id = value.id if kind == 'task' else value.task_id
        self.context_id = value.context_id
        if kind == 'artifact_update':
            earlier_text = self.artifacts.get(value.artifact.artifact_id, '') if value.append else ''
            self.artifacts[value.artifact.artifact_id] = earlier_text + join_text(value.artifact.parts)
            return
        self.state = value.status.state
        self.message = join_text(value.status.message.parts)
        if kind == 'task':
            self.artifacts = {artifact.artifact_id: join_text(artifact.parts) for artifact in value.artifacts}

    def to_dict(self):
        state = None if self.state is None else TaskState.Name(self.state)
        summary = {'state': state, 'message': self.message, 'artifacts': list(self.artifacts.values())}
        return {**summary, 'task': self.task_id, 'events': self.events}


async def fetch_keys(http, origin):
    keys = (await http.get(f'{origin}/.well-known/jwks.json')).json()['keys']
    return {key['kid']: PyJWK(key) for key in keys}


async def converse(origin, card_path, binding, mode, key, texts):
    async with httpx.AsyncClient(headers={'X-API-Key': key}, timeout=60) as http:
        keys = await fetch_keys(http, origin)
        verify = create_signature_verifier(lambda kid, jku: keys[kid], ['ES256'])
        resolver = A2ACardResolver(http, origin, card_path)
        card = await resolver.get_agent_card(
            signature_verifier=verify, http_kwargs={'headers': {'A2A-Version': '1.0'}}
        )
        config = ClientConfig(
            httpx_client=http, streaming=mode == 'streams', supported_protocol_bindings=[binding]
        )
        client = ClientFactory(config).create(card)
        answers, task_id, context_id = [], '', ''
        for text in texts:
            message = Message(
                message_id=str(uuid.uuid4()),
                role=Role.ROLE_USER,
                parts=[Part(text=text)],
                task_id=task_id,
                context_id=context_id,
            )
            reader = AnswerReader()
            async for event in client.send_message(SendMessageRequest(message=message)):
                reader.add_event(event)
            task_id = reader.task_id if reader.state in question_states else ''
            context_id = reader.context_id
            answers.append(reader.to_dict())
        return {'name': card.name, 'answers': answers}


print(json.dumps(asyncio.run(converse(*sys.argv[1:6], sys.argv[6:]))))
