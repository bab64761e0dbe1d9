// Tests the queries of a store for histories, secrets and responses.
import type { Part } from '@postern/message'
import type { Entry, Store } from '@postern/pipeline'
import { secretPurposes } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, sketchAnswer, sketchIntake, sketchResponse, withStore } from '../setup/under-test.ts'

export function lookupContract(openStore: OpenStore): void {
  describe('queries of the history and of secrets', () => {
    describeHistory(openStore)
    describeConversationOrder(openStore)
    describeSecrets(openStore)
    describeSecretRings(openStore)
    describeResponses(openStore)
    describeResponseContext(openStore)
  })
}

/** Admits and answers `count` messages of one thread. Returns the thread and the numbers of the messages. */
async function exchangeMessages(store: Store, count: number): Promise<{ thread: number; numbers: readonly number[] }> {
  const numbers: number[] = []
  let thread = 0
  for (let index = 1; index <= count; index++) {
    await store.admit(sketchIntake(`m${index}`, inThread('t')), 'c')
    const turn = await leaseOnlyTurn(store)
    await store.commit(turn, sketchAnswer(turn, `answer ${index}`))
    numbers.push(turn.message)
    thread = turn.thread
  }
  return { thread, numbers }
}

function listNativeIds(entries: readonly Entry[]): readonly (string | undefined)[] {
  return entries.map(({ nativeId }) => nativeId?.replace('answer to m', 'a'))
}

function describeHistory(openStore: OpenStore): void {
  test(
    'readHistory() returns both ends of a thread without repeats, oldest first',
    withStore(openStore, async ({ store }) => {
      const { thread, numbers } = await exchangeMessages(store, 4)
      const readHistory = async (head: number, tail: number, before = (numbers[3] ?? 0) + 1_000) =>
        listNativeIds(await store.readHistory({ thread, beforeMessage: before, head, tail }))
      expect(await readHistory(2, 3)).toEqual(['m1', 'a1', 'a3', 'm4', 'a4'])
      expect(await readHistory(5, 6)).toEqual(['m1', 'a1', 'm2', 'a2', 'm3', 'a3', 'm4', 'a4'])
      expect(await readHistory(0, 1)).toEqual(['a4'])
      expect(await readHistory(1, 0)).toEqual(['m1'])
      expect(await readHistory(0, 0)).toEqual([])
      expect(await readHistory(1, 1, numbers[2])).toEqual(['m1', 'a2'])
      expect(await readHistory(9, 9, numbers[0])).toEqual([])
    }),
  )
  test(
    'an entry has speaker, text, time and id',
    withStore(openStore, async ({ store }) => {
      const { thread, numbers } = await exchangeMessages(store, 2)
      const [question, answer] = await store.readHistory({ thread, beforeMessage: numbers[1] ?? 0, head: 9, tail: 9 })
      expect(question).toMatchObject({
        nativeId: 'm1',
        role: 'user',
        author: { address: '@ada@peer.test', display_name: 'Ada' },
      })
      expect(question?.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'words of m1' }])
      expect(answer).toMatchObject({
        nativeId: 'answer to m1',
        role: 'assistant',
        author: { address: '@echo@agents.test' },
      })
      expect([question?.at, answer?.at]).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'])
      expect(answer?.seq).toBeGreaterThan(question?.seq ?? Number.POSITIVE_INFINITY)
      expect(new Set([question?.entryId, answer?.entryId]).size).toBe(2)
    }),
  )
  test(
    'the history of a public thread has a marker for an answer to a few people, without its text',
    withStore(openStore, async ({ store }) => {
      const scopes = ['public', 'a.test'] as const
      const recalledTexts: string[] = []
      for (const scope of scopes) {
        await store.admit(sketchIntake(`m of ${scope}`, inThread('t', { thread: { scope } })), 'c')
        const turn = await leaseOnlyTurn(store)
        const response = { ...sketchResponse(turn, 'secret'), visibility: 'direct' as const }
        await store.commit(turn, { response, deliveries: [] })
        const entries = await store.readHistory({
          thread: turn.thread,
          beforeMessage: turn.message + 9,
          head: 1,
          tail: 9,
        })
        recalledTexts.push(JSON.stringify(entries.map(({ parts }) => parts)))
        expect(entries.map(({ role }) => role)).toEqual(['user', 'assistant'])
      }
      expect(recalledTexts.map(text => text.includes('secret'))).toEqual([false, true])
    }),
  )
  test(
    'the history includes failed answers, and earlier messages that still wait for their turn',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, { response: sketchResponse(turn, 'sorry', 'failed'), deliveries: [], error: 'broke' })
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      const { message } = await store.admit(sketchIntake('m3', inThread('t')), 'c')
      const entries = await store.readHistory({ thread: turn.thread, beforeMessage: message, head: 9, tail: 9 })
      expect(listNativeIds(entries)).toEqual(['m1', 'a1', 'm2'])
    }),
  )
}

function describeConversationOrder(openStore: OpenStore): void {
  test(
    'an answer follows its message, even if the next message was already waiting',
    withStore(openStore, async ({ store }) => {
      for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, inThread('t')), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'one'))
      const secondTurn = await leaseOnlyTurn(store)
      const query = { thread: secondTurn.thread, head: 1, tail: 9 }
      expect(listNativeIds(await store.readHistory({ ...query, beforeMessage: secondTurn.message }))).toEqual([
        'm1',
        'a1',
      ])
      await store.commit(secondTurn, sketchAnswer(secondTurn, 'two'))
      const thirdTurn = await leaseOnlyTurn(store)
      expect(listNativeIds(await store.readHistory({ ...query, beforeMessage: thirdTurn.message }))).toEqual([
        'm1',
        'a1',
        'm2',
        'a2',
      ])
    }),
  )
}

function describeSecrets(openStore: OpenStore): void {
  test(
    'secret() creates a value once for all simultaneous callers',
    withStore(openStore, async ({ store }) => {
      let secretCount = 0
      const makeSecret = async () => `secret ${++secretCount}`
      const secrets = await Promise.all(Array.from({ length: 10 }, () => store.readOrCreateSecret('key', makeSecret)))
      expect(new Set(secrets)).toEqual(new Set(['secret 1']))
      expect(secretCount).toBe(1)
      expect(await store.readOrCreateSecret('key', makeSecret)).toBe('secret 1')
      expect(await store.readOrCreateSecret('other key', makeSecret)).not.toBe('secret 1')
    }),
  )
  test(
    'secret() stores nothing if creation fails, and works at the next call',
    withStore(openStore, async ({ store }) => {
      await expect(store.readOrCreateSecret('key', () => Promise.reject(new Error('no entropy')))).rejects.toThrow(
        'no entropy',
      )
      expect(await store.readOrCreateSecret('key', async () => 'second try')).toBe('second try')
    }),
  )
  test(
    'hasSecret() tells which secrets exist without creating any',
    withStore(openStore, async ({ store }) => {
      await store.readOrCreateSecret('key', async () => 'made')
      expect([await store.hasSecret('key'), await store.hasSecret('other key')]).toEqual([true, false])
      expect(await store.readOrCreateSecret('other key', async () => 'made later')).toBe('made later')
    }),
  )
}

function describeSecretRings(openStore: OpenStore): void {
  const weekMs = 7 * 86_400_000
  test(
    'rotateSecrets() puts a new key first for every purpose, and the previous one counts for a week',
    withStore(openStore, async ({ store, advance }) => {
      const [files, mail] = await Promise.all([
        store.openSecret('attachments'),
        store.openSecret('email-address-tokens'),
      ])
      const keysBefore = [files.list(), mail.list()]
      expect(keysBefore.map(keys => keys.length)).toEqual([1, 1])
      expect(keysBefore[0]).not.toEqual(keysBefore[1])
      await store.rotateSecrets()
      expect(files.list().slice(1)).toEqual(keysBefore[0])
      expect(mail.list().slice(1)).toEqual(keysBefore[1])
      expect((await store.openSecret('attachments')).list()).toEqual(files.list())
      advance(weekMs - 1)
      expect(files.list()).toHaveLength(2)
      advance(1)
      expect([files.list().length, files.listAll().length]).toEqual([1, 2])
    }),
  )
  test(
    'rotateSecrets() with isRevoking keeps no previous key, and simultaneous rotations all count',
    withStore(openStore, async ({ store }) => {
      const ring = await store.openSecret('people')
      await store.rotateSecrets()
      const keysBefore = ring.list()
      await Promise.all([store.rotateSecrets({ isRevoking: true }), store.rotateSecrets(), store.rotateSecrets()])
      expect(ring.list().filter(key => keysBefore.includes(key))).toEqual([])
      expect(ring.listAll()).toHaveLength(5)
      expect(new Set(ring.listAll()).size).toBe(5)
    }),
  )
  test(
    'openSecret() keeps an earlier release’s secret for a purpose until the next rotation',
    withStore(openStore, async ({ store }) => {
      await store.readOrCreateSecret('web-storage', async () => 'of an earlier release')
      const ring = await store.openSecret('web-storage')
      expect(ring.list()).toEqual(['of an earlier release'])
      const storageSecrets = (await store.listSecrets()).filter(({ purpose }) => purpose === 'web-storage')
      expect(storageSecrets).toEqual([{ purpose: 'web-storage', generation: 1 }])
      await store.rotateSecrets({ isRevoking: true })
      expect(ring.list()).not.toContain('of an earlier release')
      expect(new Set((await store.listSecrets()).map(({ purpose }) => purpose))).toEqual(
        new Set(Object.keys(secretPurposes)),
      )
    }),
  )
}

function describeResponses(openStore: OpenStore): void {
  test(
    'findResponse() returns our response with its question',
    withStore(openStore, async ({ store }) => {
      await exchangeMessages(store, 1)
      const response = await store.findResponse('answer to m1')
      expect(response).toMatchObject({
        agent: 'echo',
        target: { answerTo: 'm1' },
        message: { id: 'm1', thread_source: 't' },
      })
      expect(response?.response).toMatchObject({
        id: 'answer to m1',
        status: 'completed',
        parts: [{ content: 'answer 1' }],
      })
      expect(await store.findResponse('m1')).toBeUndefined()
      expect(await store.findResponse('nothing')).toBeUndefined()
    }),
  )
  test(
    'listResponses() returns one agent’s responses on a channel, newest first, in pages',
    withStore(openStore, async ({ store }) => {
      await exchangeMessages(store, 3)
      const first = await store.listResponses({ agent: 'echo', via: 'a2a', limit: 2 })
      expect(first.map(({ message }) => message.id)).toEqual(['m3', 'm2'])
      const cursor = first.at(-1)?.position ?? 0
      const second = await store.listResponses({ agent: 'echo', via: 'a2a', limit: 2, after: cursor })
      expect(second).toMatchObject([{ response: { id: 'answer to m1' }, target: { answerTo: 'm1' } }])
      expect(await store.listResponses({ agent: 'echo', via: 'email', limit: 2 })).toEqual([])
      expect(await store.listResponses({ agent: 'help', via: 'a2a', limit: 2 })).toEqual([])
    }),
  )
}

/** Sketches a message of an author, who may edit and delete it. */
function sketchAuthored(
  object: string,
  message: IntakeSketch['message'] = {},
  sketch: IntakeSketch = {},
): IntakeSketch {
  return inThread('t', { ...sketch, authorship: { author: 'https://peer.test/ada', object }, message })
}

const reply = { in_reply_to: 'answer to m1' }

/** Admits a message with an answer that everybody may read, and two replies to it. The first reply is answered. */
async function converse(store: Store): Promise<void> {
  await store.admit(sketchIntake('m1', sketchAuthored('o1')), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, 'first', [], { aliases: ['answer to m1'], isListed: true }))
  await store.admit(sketchIntake('m2', sketchAuthored('o2', reply)), 'c')
  const secondTurn = await leaseOnlyTurn(store)
  await store.commit(secondTurn, sketchAnswer(secondTurn, 'second', [], { isListed: true }))
  await store.admit(sketchIntake('m3', sketchAuthored('o3', reply)), 'c')
  const thirdTurn = await leaseOnlyTurn(store)
  await store.commit(thirdTurn, sketchAnswer(thirdTurn, 'third'))
}

const context = { names: ['answer to m1'], limit: 9 }

function describeResponseContext(openStore: OpenStore): void {
  test(
    'readResponseContext() returns a response’s question, and its replies with their public answers',
    withStore(openStore, async ({ store }) => {
      await converse(store)
      await store.admit(sketchIntake('m4', sketchAuthored('o4', { in_reply_to: 'answer to m2' })), 'c')
      const responseContext = await store.readResponseContext('answer to m1', context)
      expect(responseContext.answered).toMatchObject({ message: { id: 'm1' }, target: { answerTo: 'm1' } })
      expect(responseContext.replies).toMatchObject([
        { message: { id: 'm2' }, response: 'answer to m2' },
        { message: { id: 'm3' } },
      ])
      expect(responseContext.replies[1]?.response).toBeUndefined()
      expect((await store.readResponseContext('answer to m1', { ...context, limit: 1 })).replies).toHaveLength(1)
      expect(await store.readResponseContext('unknown', context)).toEqual({ replies: [] })
    }),
  )
  test(
    'readResponseContext() returns the latest edited text, and nothing withdrawn or held back',
    withStore(openStore, async ({ store }) => {
      await converse(store)
      const parts: Part[] = [{ kind: 'text', mime: 'text/plain', content: 'reworded' }]
      const edit = { kind: 'edit', in_reply_to: 'o2', parts } as const
      await store.admit(sketchIntake('edit of m2', sketchAuthored('o2', edit)), 'c')
      await store.admit(sketchIntake('m4', sketchAuthored('o4', reply, { disposition: 'keep' })), 'c')
      const withdrawals = ['o1', 'o3'].map(
        object => ({ kind: 'forget', author: 'https://peer.test/ada', object }) as const,
      )
      await store.withdraw('a2a', withdrawals)
      const responseContext = await store.readResponseContext('answer to m1', context)
      expect(responseContext.answered).toBeUndefined()
      expect(responseContext.replies).toMatchObject([{ message: { parts }, response: 'answer to m2' }])
      expect(responseContext.replies).toHaveLength(1)
    }),
  )
}
