"""Talks to agents with Microsoft's Agent Framework."""

import asyncio

import httpx
from a2a.client import A2ACardResolver
from a2a.types import TaskState
from agent_framework import Content, Message
from agent_framework.a2a import A2AAgent
from conversation import serve

states = {
    TaskState.TASK_STATE_COMPLETED: 'answered',
    TaskState.TASK_STATE_INPUT_REQUIRED: 'asked',
    TaskState.TASK_STATE_FAILED: 'failed',
}


async def converse(conversation):
    async with httpx.AsyncClient(headers=conversation.headers, timeout=60) as http:
        card = await A2ACardResolver(http, conversation.agent).get_agent_card()
        conversation.card = card.name
        agent = A2AAgent(agent_card=card, http_client=http)
        session = agent.create_session()
        while conversation.texts:
            message = Message('user', [conversation.next_text(), *take_file(conversation)])
            reply = await run(agent, message, session, conversation.streams)
            contents = [content for message in reply.messages for content in message.contents]
            files = [content.media_type for content in contents if content.type == 'data']
            conversation.hear(states[session.service_session_id['task_state']], reply.text, files)


async def run(agent, message, session, streams):
    if not streams:
        return await agent.run(message, session=session)
    stream = agent.run(message, session=session, stream=True)
    async for _ in stream:
        pass
    return await stream.get_final_response()


def take_file(conversation):
    file = conversation.take_file()
    return [] if file is None else [Content.from_data(file['data'], media_type=file['mime'])]


serve(lambda conversation: asyncio.run(converse(conversation)))
