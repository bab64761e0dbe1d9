import type { BaseEvent, Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, typesOf, uniqueName, withoutWarnings } from '../setup/web-gateway.ts'

// These tests cover the data that an agent attaches to its text: as the real client receives it, and as the history returns it.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway({}, { agents: { chat: { use: '../agents/chat/annotator.ts' } }, default_agent: 'chat' })
})
afterAll(() => web.close())

function openClient(threadId = uniqueName('thread')): HttpAgent {
  const headers = { authorization: 'Bearer token-of-ann-for-the-tests' }
  return new HttpAgent({ url: `${web.gateway.url()}/api/v1/agent/runs`, headers, threadId })
}

async function runChat(client: HttpAgent, input: string | object): Promise<readonly BaseEvent[]> {
  const events: BaseEvent[] = []
  if (typeof input === 'string') client.addMessage({ id: uniqueName('msg'), role: 'user', content: input })
  const resume = typeof input === 'string' ? {} : { resume: [input as never] }
  await withoutWarnings(() =>
    client.runAgent({ runId: uniqueName('run'), ...resume }, { onEvent: ({ event }) => void events.push(event) }),
  )
  return events
}

const readMetadata = (message: Message | undefined) => (message as { metadata?: object } | undefined)?.metadata
const metadata = { intent: 'refund', scores: { refund: 0.9, 'naïve ☂': null } }

describe('data that an agent stores with a chat message', () => {
  test('arrives with the message under any name, and returns unchanged (C-20)', async () => {
    const client = openClient()
    await runChat(client, 'hello')
    expect(readMetadata(client.messages.at(-1))).toMatchObject(metadata)
    const [, answer] = await web.readHistory(client.threadId)
    expect(answer?.metadata).toMatchObject(metadata)
    // The gateway's own metadata of a message overrides an agent's claims.
    expect(answer?.metadata).toMatchObject({ stage: 'execution', run_id: expect.stringMatching(/^run-/) })
  })

  test('reaches the client merged from its chunks, by name (C-20)', async () => {
    const client = openClient()
    await runChat(client, 'in pieces')
    expect(readMetadata(client.messages.at(-1))).toMatchObject({ intent: 'done', first: 1 })
    expect((await web.readHistory(client.threadId)).at(-1)?.metadata).toMatchObject({ intent: 'done', first: 1 })
  })

  test('is in the snapshot of a returning client, and in the export (C-20)', async () => {
    const client = openClient()
    await runChat(client, 'hello')
    const returningClient = openClient(client.threadId)
    await runChat(returningClient, 'again')
    expect(readMetadata(returningClient.messages[1])).toMatchObject(metadata)
    const thread = `web:${JSON.stringify(['chat', client.threadId])}`
    const query = new URLSearchParams({ owner: 'web:["https://agents.test","ann"]', thread, format: 'agui' })
    const { messages } = await web.gateway.requestOperator<{ messages: readonly Message[] }>(`/transcript?${query}`)
    expect(messages.map(readMetadata)).toContainEqual(expect.objectContaining(metadata))
  })
})

describe('an interrupt', () => {
  test('follows snapshots of messages and state for a client that lacks them (C-23)', async () => {
    const first = openClient()
    await runChat(first, 'hello')
    const returningClient = openClient(first.threadId)
    const events = await runChat(returningClient, 'consent')
    const types = typesOf(events)
    const positions = ['MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT', 'RUN_FINISHED'].map(type => types.indexOf(type))
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
    expect(positions[0]).toBeGreaterThan(0)
    expect(findEvent(events, 'STATE_SNAPSHOT').snapshot).toEqual({ mood: 'curious', open: ['17'] })
    const { outcome } = events.at(-1) as unknown as { outcome: { type: string; interrupts: readonly { id: string }[] } }
    expect(outcome).toMatchObject({ type: 'interrupt', interrupts: [{ reason: 'confirmation', message: 'May I?' }] })
    expect(returningClient.messages.map(({ role, content }) => [role, content])).toMatchObject([
      ['user', 'hello'],
      ['assistant', 'heard: hello'],
      ['user', 'consent'],
      ['assistant', 'May I?'],
    ])
    expect(returningClient.state).toEqual({ mood: 'curious', open: ['17'] })
    // C-24: even a client that has nothing of the conversation can continue it.
    const newClient = openClient(first.threadId)
    const interruptId = outcome.interrupts[0]?.id
    const decisionEvents = await runChat(newClient, { interruptId, status: 'resolved', payload: { approved: true } })
    expect(typesOf(decisionEvents)).toContain('MESSAGES_SNAPSHOT')
    expect(newClient.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'decided: granted' })
  })
})
