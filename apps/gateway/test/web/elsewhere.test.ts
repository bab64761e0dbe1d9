import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../house.ts'
import { readConfided } from '../people-house.ts'
import type { ChatHouse } from './chat-house.ts'
import { openChatHouse } from './chat-house.ts'

// C-30, seed-systems.md §2.4: what began elsewhere goes on in the chat of its owner, and its answers leave by where it began.

let house: ChatHouse

beforeAll(async () => {
  house = await openChatHouse()
})
afterAll(() => house.close())

interface Note {
  readonly id: string
  readonly inReplyTo: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly content: string
  readonly tag: readonly { readonly href: string; readonly name: string }[]
}

/** Posts to an account with these words, as often as they came. */
const notesTo = (actor: string, words: string): readonly Note[] =>
  house.house.world.fediverse.received
    .map(({ activity }) => activity.object as Note)
    .filter(note => note?.to?.includes(actor) && note.content.includes(words))

describe('a thread that began on the fediverse', () => {
  const alice = 'https://mastodon.test/users/alice'
  let threadId = ''

  test('C-30: is nobody’s in the chat until its owner has linked his account', async () => {
    await house.dm('my order is late')
    expect(await house.threads()).toEqual([])
    const { text } = await house.linkAccount('alice@mastodon.test')
    expect(text).toContain('Done: @alice@mastodon.test is linked with this address.')
  })

  test('C-30: is listed for its owner, and shown with its messages in order, each with the way it came', async () => {
    const thread = (await house.threads()).find(({ via }) => via === 'activitypub')
    expect(thread).toMatchObject({ beginning: 'my order is late', threadId: expect.stringMatching(/^activitypub:\d+$/) })
    threadId = thread?.threadId ?? ''
    const messages = await house.read(threadId)
    expect(messages.map(({ seq, role, metadata }) => [seq, role, metadata.via])).toEqual([
      [1, 'user', 'activitypub'],
      [2, 'assistant', 'activitypub'],
    ])
    expect(messages[0]?.content).toBe('my order is late')
  })

  test('C-30: a web reply is streamed to the chat and delivered to the fediverse, once, as a reply to him alone', async () => {
    const { text, events } = await house.chat('is it on its way?', { threadId })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(readConfided(text).past).toContain('activitypub: my order is late')
    const [note] = await eventually(async () => {
      const found = notesTo(alice, 'activitypub: my order is late')
      return found.length > 0 && found
    })
    expect(note).toMatchObject({ to: [alice], cc: [], tag: [{ href: alice, name: '@alice@mastodon.test' }] })
    expect(note?.inReplyTo).toMatch(/^https:\/\/mastodon\.test\//)
    expect(notesTo(alice, 'activitypub: my order is late')).toHaveLength(1)
  })
})
