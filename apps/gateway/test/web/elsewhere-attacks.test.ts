import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfided } from '../people-house.ts'
import type { ChatHouse, Thread } from './chat-house.ts'
import { openChatHouse } from './chat-house.ts'

// What people try who had an account before, or have it now.

let house: ChatHouse

beforeAll(async () => {
  house = await openChatHouse()
})
afterAll(() => house.close())

const listPage = async (query: string, agent: string) => {
  const answer = await house.call(`/api/v1/agents/${agent}/threads?${query}`)
  return (await answer.json()) as { threads: readonly Thread[]; next_before?: number }
}

test('the list of threads goes on behind one in which nobody has spoken to the agent', async () => {
  for (const words of ['first', 'second']) await house.chat(words)
  await house.chat('linked')
  const seen: string[] = []
  for (let query = 'limit=1', pages = 0; pages < 9; pages += 1) {
    const { threads, next_before } = await listPage(query, 'desk')
    seen.push(...threads.map(({ beginning }) => beginning))
    if (next_before === undefined) break
    query = `limit=1&before=${next_before}`
  }
  expect(seen).toEqual(['second', 'first'])
})

describe('C-30: an account that two people have one after the other', () => {
  const account = 'alice@mastodon.test'

  test('gives the agent nothing of what the first one said in his chat', async () => {
    const { thread } = await house.dm('my order is late')
    await house.linkAccount(account)
    const own = (await house.threads()).find(({ via }) => via === 'activitypub')
    await house.chat('my secret is 4711', { threadId: own?.threadId ?? '' })
    const still = await house.dm('and now?', { inReplyTo: thread })
    expect(readConfided(still.text).past.join()).toContain('4711')
    await house.dm('unlink @ann@web.agents.test')
    const post = await house.dm('and after that?', { inReplyTo: thread })
    expect(readConfided(post.text).past.join()).toContain('my order is late')
    expect(post.text).not.toContain('4711')
    await house.linkAccount(account, { as: 'bob' })
    const { text } = await house.chat('what did I say?', { threadId: own?.threadId ?? '', as: 'bob' })
    expect(readConfided(text).past.join()).toContain('my order is late')
    expect(text).not.toContain('4711')
  })
})
