import type { BaseEvent } from '@ag-ui/client'
import { EventType, HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName, withoutWarnings } from '../setup/web-gateway.ts'

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway({}, { agents: { chat: { use: '../agents/chat/filer.ts' } }, default_agent: 'chat' })
})
afterAll(() => web.close())

test.each(['between', 'first', 'last', 'bare', 'together', 'whole', 'called', 'crowded'])(
  'a run streams the text around a file once, and links to the file as the history does (%s)',
  async word => {
    const url = `${web.gateway.url()}/api/v1/agent/runs`
    const headers = { authorization: 'Bearer token-of-ann-for-the-tests' }
    const client = new HttpAgent({ url, headers, threadId: uniqueName('thread') })
    const events: BaseEvent[] = []
    client.addMessage({ id: uniqueName('msg'), role: 'user', content: word })
    await withoutWarnings(() =>
      client.runAgent({ runId: uniqueName('run') }, { onEvent: ({ event }) => void events.push(event) }),
    )
    const messages = client.messages.filter(({ role, content }) => role === 'assistant' && content)
    const history = (await web.readHistory(client.threadId)).filter(({ role }) => role === 'assistant')
    expect(messages.map(({ id, content }) => ({ id, content }))).toEqual(
      history.map(({ id, content }) => ({ id, content })),
    )
    const text = messages.map(({ content }) => String(content)).join(' ')
    expect(text.match(/\[hello\.txt\]/g)).toHaveLength(1)
    const link = /\((https:[^)]*)\)/.exec(text)?.[1] ?? ''
    expect(await (await fetch(link.replace('https://agents.test', web.gateway.url()))).text()).toBe('hello')
    // A message that waits while a later call is shown has its place only in the messages of the whole conversation.
    const laterEvents = events.slice(events.findIndex(({ type }) => type === EventType.TEXT_MESSAGE_START))
    expect(laterEvents.some(({ type }) => type === EventType.MESSAGES_SNAPSHOT)).toBe(word === 'crowded')
    const deltas = events.flatMap(event => (event.type === EventType.TEXT_MESSAGE_CONTENT ? [String(event.delta)] : []))
    expect(deltas.join('')).toBe(messages.map(({ content }) => content).join(''))
  },
)
