import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfided } from '../setup/people-gateway.ts'
import { uniqueName } from '../setup/web-gateway.ts'
import type { PeopleChatGateway, Thread } from './chat-gateway.ts'
import { openPeopleChatGateway } from './chat-gateway.ts'

// These tests check attacks by the earlier and the present owners of an account.

let gateway: PeopleChatGateway

beforeAll(async () => {
  const use = '../agents/people/patient-confidant.ts'
  gateway = await openPeopleChatGateway({
    agents: {
      desk: { use, people: { link: true, share: 'history+state' }, concurrency: 4 },
      quiet: { use, people: { link: true }, concurrency: 4 },
    },
  })
})
afterAll(() => gateway.close())

const listPage = async (query: string, agent: string) => {
  const response = await gateway.requestAs(`/api/v1/agents/${agent}/threads?${query}`)
  return (await response.json()) as { threads: readonly Thread[]; next_before?: number }
}

test('the list of threads does not end at a thread without a message to the agent', async () => {
  for (const text of ['first', 'second']) await gateway.chat(text)
  await gateway.chat('linked')
  const threadIds: string[] = []
  for (let query = 'limit=1', pages = 0; pages < 9; pages += 1) {
    const { threads, next_before } = await listPage(query, 'desk')
    threadIds.push(...threads.map(({ beginning }) => beginning))
    if (next_before === undefined) break
    query = `limit=1&before=${next_before}`
  }
  expect(threadIds).toEqual(['second', 'first'])
})

describe('an account that changes its owner (C-30)', () => {
  const account = 'alice@mastodon.test'

  test('gives the agent nothing of the first owner’s chat', async () => {
    const { thread } = await gateway.askByPost('my order is late')
    await gateway.linkAccount(account)
    const ownThread = (await gateway.threads()).find(({ via }) => via === 'activitypub')
    await gateway.chat('my secret is durian', { threadId: ownThread?.threadId ?? '' })
    const linkedAnswer = await gateway.askByPost('and now?', { inReplyTo: thread })
    expect(readConfided(linkedAnswer.text).past.join()).toContain('durian')
    await gateway.askByPost('unlink @ann@web.agents.test')
    const unlinkedAnswer = await gateway.askByPost('and after that?', { inReplyTo: thread })
    expect(readConfided(unlinkedAnswer.text).past.join()).toContain('my order is late')
    expect(unlinkedAnswer.text).not.toContain('durian')
    await gateway.linkAccount(account, { as: 'bob' })
    const { text } = await gateway.chat('what did I say?', { threadId: ownThread?.threadId ?? '', as: 'bob' })
    expect(readConfided(text).past.join()).toContain('my order is late')
    expect(text).not.toContain('durian')
  })
})

test.each(['desk', 'quiet'])(
  'a waiting run of a person gets no history after their link ends: %s (C-30)',
  async agent => {
    const from = 'bob@mastodon.test'
    await gateway.askByPost('the safe is behind the picture', { from, to: agent })
    await gateway.linkAccount(from, { agent })
    const ownThread = (await gateway.threads('ann', agent)).find(({ via }) => via === 'activitypub')
    const threadId = ownThread?.threadId ?? ''
    const runChat = (content: string) =>
      gateway.postRun(
        { threadId, runId: uniqueName('run'), messages: [{ id: uniqueName('msg'), role: 'user', content }] },
        'ann',
        agent,
      )
    const heldResponse = await runChat('hold')
    const waiting = await runChat('where is the safe?')
    expect([heldResponse.status, waiting.status]).toEqual([200, 200])
    const { text } = await gateway.askByPost('unlink @ann@web.agents.test', { from, to: agent })
    expect(text).toContain('is not linked with this address any more')
    await gateway.chat('go', { as: 'bob', agent })
    // The turn got its history when it began.
    expect(await readAnswer(heldResponse)).toContain('behind the picture')
    expect(await readAnswer(waiting)).toBe('{"past":[],"storedTexts":[],"knows":[]}')
  },
)

async function readAnswer(response: Response): Promise<string> {
  const events = (await response.text()).split('\n\n').filter(line => line.startsWith('data: '))
  const runEvents = events.map(line => JSON.parse(line.slice(6)) as { readonly type: string; readonly delta?: string })
  return runEvents.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [delta] : [])).join('')
}
