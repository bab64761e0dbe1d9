"""Talks to agents with Google's Agent Development Kit, whose runner has a remote agent."""

import asyncio

import httpx
from a2a.client import ClientConfig, ClientFactory
from conversation import serve
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types


states = {'TASK_STATE_INPUT_REQUIRED': 'asked', 'TASK_STATE_FAILED': 'failed', 'TASK_STATE_COMPLETED': 'answered'}


async def converse(conversation):
    async with httpx.AsyncClient(headers=conversation.headers, timeout=60) as http:
        card = f'{conversation.agent}/.well-known/agent-card.json'
        factory = ClientFactory(ClientConfig(httpx_client=http, streaming=conversation.streams))
        agent = RemoteA2aAgent('remote', card, a2a_client_factory=factory)
        runner = InMemoryRunner(agent, app_name='caller')
        session = await runner.session_service.create_session(app_name='caller', user_id='ann')
        while conversation.texts:
            parts = [types.Part(text=conversation.next_text()), *take_file(conversation)]
            message = types.Content(role='user', parts=parts)
            heard = runner.run_async(user_id='ann', session_id=session.id, new_message=message)
            await hear(conversation, heard)
        conversation.card = agent._agent_card.name


async def hear(conversation, events):
    state, text, files = 'error', '', []
    async for event in events:
        response = (event.custom_metadata or {}).get('a2a:response', {})
        state = states.get(response.get('status', {}).get('state'), state)
        if event.error_message:
            state, text = 'error', event.error_message
        for part in event.content.parts if event.content else []:
            if part.function_call:
                text += part.function_call.args['input_required']
            elif part.inline_data:
                files.append(part.inline_data.mime_type)
            elif not part.thought:
                text += part.text or ''
    conversation.hear(state, text, files)


def take_file(conversation):
    file = conversation.take_file()
    return [] if file is None else [types.Part(inline_data=types.Blob(data=file['data'], mime_type=file['mime']))]


serve(lambda conversation: asyncio.run(converse(conversation)))
