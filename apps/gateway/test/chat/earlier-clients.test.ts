import type { BaseEvent, HttpAgent as CurrentAgent } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName, withoutWarnings } from '../setup/web-gateway.ts'

// These tests use real clients of several releases: 0.0.36 has the first ordering rules, 0.0.47 no subagents, and 0.0.59 is the last one and
// CopilotKit's.

const foreman = { use: '../agents/calling/foreman.ts' }
const agents = {
  chat: { use: '../agents/chat/chatter.ts' },
  steps: { use: '../agents/chat/stepper.ts' },
  spender: { use: '../agents/chat/spender.ts' },
  notes: { use: '../agents/chat/annotator.ts' },
  manager: foreman,
  one: foreman,
}
const workerStep = { ask: '@one@agents.test', say: 'count the apples', broadcast: true }
const plan = { note: { type: 'strategic_plan', content: { phases: ['count'] } } }
const delegating = JSON.stringify([workerStep, plan])
const failing = JSON.stringify([{ ask: '@nobody@agents.test', say: 'anybody?' }])

/** The agent, the text that it gets, and the end of the run. */
const runs: readonly (readonly [agent: string, text: string, end: string])[] = [
  ...['hello', 'count', 'tool', 'halves', 'running', 'ask', 'search', 'consent', 'silence', 'picture', 'theirs'].map(
    text => ['chat', text, 'RUN_FINISHED'] as const,
  ),
  ...['boom', 'fade', 'stumble'].map(text => ['chat', text, 'RUN_ERROR'] as const),
  ['steps', 'plan +weigh call! read', 'RUN_FINISHED'],
  ['notes', 'in pieces', 'RUN_FINISHED'],
  ['spender', 'hello', 'RUN_FINISHED'],
  ['manager', delegating, 'RUN_FINISHED'],
  ['manager', failing, 'RUN_FINISHED'],
]

/** The members that the clients of all releases have. */
type Client = Pick<CurrentAgent, 'messages' | 'setMessages' | 'runAgent'>
type OpenClient = new (options: { url: string; threadId: string; headers: Record<string, string> }) => Client

async function loadClient(version: string): Promise<OpenClient> {
  if (version === '1.0.0') return HttpAgent
  return ((await import(`agui-client-${version}`)) as { HttpAgent: OpenClient }).HttpAgent
}

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway({ trace: true }, { agents, default_agent: 'chat' })
})
afterAll(() => web.close())

async function openClient(version: string, agent: string, threadId = uniqueName('thread')): Promise<Client> {
  const Agent = await loadClient(version)
  const url = `${web.gateway.url()}/api/v1/agents/${agent}/runs`
  return new Agent({ url, threadId, headers: { authorization: 'Bearer token-of-ann-for-the-tests' } })
}

const tools = [{ name: 'pick_color', description: 'Lets the person pick', parameters: {} }]

/** Runs the client with one more message. Rejects at an event that the client does not accept. */
async function runClient(client: Client, text: string, overrides: object = {}): Promise<readonly BaseEvent[]> {
  const messages = text === '' ? [] : [{ id: uniqueName('msg'), role: 'user' as const, content: text }]
  client.setMessages([...client.messages, ...messages])
  const events: BaseEvent[] = []
  const onEvent = ({ event }: { readonly event: BaseEvent }) => void events.push(event)
  await withoutWarnings(() => client.runAgent({ runId: uniqueName('run'), tools, ...overrides }, { onEvent }))
  return events
}

const textOf = (events: readonly BaseEvent[]) =>
  events.map(event => ('delta' in event && event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : '')).join('')

describe.each(['0.0.36', '0.0.47', '0.0.59', '1.0.0'])('the AG-UI client %s', version => {
  test.each(runs)('follows a run of %s with the client "%s" to its end', async (agent, text, endType) => {
    const current = await runClient(await openClient('1.0.0', agent), text)
    const events = await runClient(await openClient(version, agent), text)
    expect(events.at(-1)?.type).toBe(endType)
    expect(textOf(events)).toContain(
      textOf(current)
        .replace(/\[[^\]]*\]\(\S*\)|https?:\S*|Reference: \w+/g, '')
        .trim(),
    )
  })

  test('gets missing messages and continues the conversation', async () => {
    const threadId = uniqueName('thread')
    await runClient(await openClient('1.0.0', 'chat', threadId), 'picture')
    const client = await openClient(version, 'chat', threadId)
    await runClient(client, 'hello')
    expect(client.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(client.messages.at(-1)?.content).toBe('you said: hello; turns: 2')
  })
})

test('clients of 0.0.x receive newer events as custom events of the same names', async () => {
  const types = async (version: string) => {
    const events = await runClient(await openClient(version, 'manager'), delegating)
    return events.map(event => (event.type === 'CUSTOM' ? (event as unknown as { name: string }).name : event.type))
  }
  expect(await types('0.0.47')).toEqual(expect.arrayContaining(['subagent_started', 'activity_snapshot']))
  expect(await types('1.0.0')).toEqual(expect.arrayContaining(['SUBAGENT_STARTED', 'ACTIVITY_SNAPSHOT']))
})

test.each(['0.0.36', '0.0.59'])('a cancelled run does not look successful to the client %s', async version => {
  const [runId, client] = [uniqueName('run'), await openClient(version, 'chat')]
  const running = runClient(client, 'wait', { runId })
  const cancel = () => web.requestAs(`/api/v1/agents/chat/runs/${runId}/cancel`, { method: 'POST' })
  await vi.waitFor(async () => expect((await cancel()).status).toBe(200))
  expect((await running).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'cancelled' })
})

test('the client 0.0.59 resumes an interrupt with `resume`', async () => {
  const client = await openClient('0.0.59', 'chat')
  const question = (await runClient(client, 'consent')).at(-1) as unknown as {
    readonly outcome: { readonly interrupts: readonly [{ readonly id: string }] }
  }
  const [{ id }] = question.outcome.interrupts
  const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }]
  expect(textOf(await runClient(client, '', { resume }))).toContain('decided: ')
})
