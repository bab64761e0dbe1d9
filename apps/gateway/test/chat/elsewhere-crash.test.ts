import { hash } from 'node:crypto'
import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

// These tests run kill -9 between a message in the chat and its answer on the fediverse (C-30): nothing is lost or repeated.

const delays = drawDelays({ quick: 2, long: 8, lastMs: 56 })
const token = 'token-of-ann-for-the-tests'
const alice = 'https://mastodon.test/users/alice'
let setup: KilledGateway

beforeAll(async () => {
  const tokens = [{ name: 'ann', sha256: hash('sha256', token) }]
  const agents = { desk: { use: 'builtin:echo', people: { link: true } } }
  setup = await openKilledGateway({ overrides: { agents, web: { enabled: true, auth: { tokens } } } })
})
afterAll(() => setup.close())

const requestAgent = (path: string, body?: object) =>
  fetch(`${setup.url}/api/v1/agent${path}`, {
    headers: { authorization: `Bearer ${token}` },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })

interface Note {
  readonly id: string
  readonly content: string
  readonly to: readonly string[]
}

/** Lists notes once by id: every server ignores a note that arrives again. */
function notes(): readonly string[] {
  const receivedNotes = setup.simulation.fediverse.received.map(({ activity }) => activity.object as Note | undefined)
  const notesToAlice = receivedNotes.flatMap(note =>
    note?.to?.includes(alice) ? [[note.id, note.content] as const] : [],
  )
  return [...new Map(notesToAlice).values()]
}

async function runChat(content: string, threadId: string, runId = `run-${content}`): Promise<number> {
  const response = await requestAgent('/runs', {
    threadId,
    runId,
    messages: [{ id: `msg-${runId}`, role: 'user', content }],
  })
  await response.text()
  return response.status
}

/** Links the account, and returns the thread that it began. */
async function openThread(): Promise<string> {
  const { objectId } = await setup.simulation.fediverse.deliver({
    to: '@desk@agents.test',
    text: 'the beginning',
    visibility: 'direct',
  })
  await setup.simulation.fediverse.awaitReply(objectId, 30_000)
  await runChat('link acct:alice@mastodon.test', 'commands', 'link')
  const code = await eventually(async () => /\b[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}\b/.exec(notes().join())?.[0], 30_000)
  await runChat(`confirm ${code}`, 'commands', 'confirm')
  const { threads } = (await (await requestAgent('/threads')).json()) as { threads: readonly { threadId: string }[] }
  return threads.find(({ threadId }) => threadId.startsWith('activitypub:'))?.threadId ?? ''
}

/** Repeats a message until the gateway accepts it; 409 means that it already has. */
async function insist(content: string, threadId: string): Promise<void> {
  await eventually(async () => [200, 409].includes(await runChat(content, threadId).catch(() => 0)), 30_000)
}

test('a chat message gets exactly one answer and one fediverse delivery after kill -9 (C-30)', {
  timeout: 240_000,
}, async () => {
  const threadId = await openThread()
  const texts = delays.map((_, round) => `word${round}word`)
  for (const [round, word] of texts.entries()) {
    const pendingAnswer = runChat(word, threadId).catch(() => undefined)
    // The delays range from before the request is read to after the answer was sent.
    await new Promise(resolve => setTimeout(resolve, delays[round]))
    await setup.gateway.kill()
    await pendingAnswer
    await setup.gateway.start()
    await insist(word, threadId)
  }
  for (const word of texts) await eventually(async () => notes().some(note => note.includes(word)), 30_000)
  const history = (await (await requestAgent(`/history?threadId=${threadId}`)).json()) as {
    messages: readonly { role: string; content: string }[]
  }
  for (const word of texts) {
    expect(
      notes().filter(note => note.includes(word)),
      word,
    ).toHaveLength(1)
    const matchingMessages = history.messages.filter(({ content }) => content.includes(word))
    expect(matchingMessages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  }
})
