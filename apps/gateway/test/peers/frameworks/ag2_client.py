"""Talks to agents with AG2, whose agent has a remote one instead of a model."""

import asyncio

from ag2 import Agent
from ag2.a2a import A2AConfig
from ag2.a2a.errors import A2ATaskFailedError
from ag2.events import BinaryInput, HumanMessage
from conversation import serve


async def converse(conversation):
    def answer(request):
        conversation.hear('asked', request.content)
        return HumanMessage(conversation.next_text())

    config = A2AConfig(
        card_url=conversation.agent, streaming=conversation.streams, headers=conversation.headers
    )
    ask = Agent('caller', config=config, hitl_hook=answer).ask
    while conversation.texts:
        try:
            reply = await ask(conversation.next_text(), *take_file(conversation))
        except A2ATaskFailedError as error:
            texts = [part.text for part in error.task.status.message.parts]
            conversation.hear('failed', ''.join(texts))
            continue
        conversation.card = reply.response.model
        conversation.hear('answered', reply.body)
        ask = reply.ask


def take_file(conversation):
    file = conversation.take_file()
    if file is None:
        return []
    return [BinaryInput(file['data'], media_type=file['mime'], vendor_metadata={'filename': file['name']})]


serve(lambda conversation: asyncio.run(converse(conversation)))
