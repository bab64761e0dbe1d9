import { hash, randomBytes } from 'node:crypto'
import type { ByteStore } from '@postern/message'
import { LeaseLost, Rejection, Unavailable } from '@postern/message'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import type { GatewayStore } from '../../src/index.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, openPostgresTestStore, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

const adasTask = { owner: 'ada', id: 'task 1' }
const request = { holder: 'worker', limit: 10, leaseMs: 30_000 }

/** Opens two stores on one database. */
async function openTwo() {
  const tested = await openPostgresTestStore()
  const other = (await tested.reopen?.()) as GatewayStore
  const close = () => Promise.all([tested.store.close(), other.close()])
  return { ...tested, other, close }
}

function nextNotice(store: GatewayStore, topic: string): Promise<unknown> {
  return new Promise(resolve => {
    const unlisten = store.listen(topic, payload => {
      unlisten()
      resolve(payload)
    })
  })
}

describe('two stores on one database', () => {
  test('announce the end of a turn with its task in the committing store, and without it in the other', async () => {
    const { store, other, close } = await openTwo()
    const { message } = await store.admit(sketchIntake('m1', { task: { ...adasTask, context: 'ctx' } }), 'c')
    const [home, elsewhere] = [other, store].map(each => nextNotice(each, `message:${message}`))
    const [turn] = await other.leaseTurns(request)
    if (!turn) throw new Error('no turn is due')
    const answer = sketchAnswer(turn, 'hello')
    await other.commit(turn, answer)
    expect(await elsewhere).toEqual({ kind: 'settled' })
    const { entries: _, ...task } = (await other.findTask(adasTask)) ?? { entries: [] }
    expect(await home).toEqual({ kind: 'settled', task: task })
    expect(task).toMatchObject({ state: 'completed', response: answer.response })
    await close()
  })

  test('announce ready work and the end of turns of either store', async () => {
    const { store, other, close } = await openTwo()
    const ready = nextNotice(other, 'work')
    const { message } = await store.admit(sketchIntake('m1'), 'c')
    await ready
    const settled = nextNotice(store, `message:${message}`)
    const [turn] = await other.leaseTurns(request)
    if (!turn) throw new Error('no turn is due')
    await other.commit(turn, sketchAnswer(turn, 'hello'))
    expect(await settled).toEqual({ kind: 'settled' })
    expect(await store.findMessage('m1')).toMatchObject({ state: 'answered' })
    await close()
  })

  test('pass an agent’s interim text to each other, at any length and with any characters', async () => {
    const { store, other, close } = await openTwo()
    const chunk = { kind: 'part', chunk: 'ä🦆\0\u001a\ud800'.repeat(10_000) }
    const heard = nextNotice(other, 'message:7')
    store.notify('message:7', chunk)
    expect(await heard).toEqual(chunk)
    await close()
  })

  test('let one take over an expired lease of the other, whose late commit fails', async () => {
    const { store, other, advance, close } = await openTwo()
    await store.admit(sketchIntake('m1'), 'c')
    const [lost] = await store.leaseTurns(request)
    expect(await other.leaseTurns(request)).toEqual([])
    advance(request.leaseMs)
    const [turn] = await other.leaseTurns(request)
    expect(turn).toMatchObject({ attempt: 2, content: { id: 'm1', raw: { id: 'm1' } } })
    if (!turn || !lost) throw new Error('no turn is due')
    await expect(store.commit(lost, sketchAnswer(lost, 'late'))).rejects.toThrow(LeaseLost)
    await other.commit(turn, sketchAnswer(turn, 'in time'))
    await close()
  })

  test('lease each turn once and count correctly in parallel', async () => {
    const { store, other, close } = await openTwo()
    const stores = [store, other]
    const ids = Array.from({ length: 120 }, (_, at) => `m${at}`)
    await Promise.all(ids.map((id, at) => stores[at % 2]?.admit(sketchIntake(id), 'c')))
    // A message that reaches both stores at the same time is stored once.
    const again = await Promise.all(
      ids.slice(0, 20).flatMap(id => stores.map(each => each.admit(sketchIntake(id), 'c'))),
    )
    expect(again.every(({ outcome }) => outcome === 'duplicate')).toBe(true)
    const answered = await Promise.all(stores.map(answerAll))
    expect(answered.flat().toSorted()).toEqual(ids.toSorted())
    expect((await other.count()).messages).toMatchObject({ answered: 120, received: 0, working: 0 })
    await close()
  })
})

async function answerAll(store: GatewayStore): Promise<readonly string[]> {
  const ids: string[] = []
  for (;;) {
    const turns = await store.leaseTurns({ ...request, limit: 7 })
    if (turns.length === 0) return ids
    await Promise.all(turns.map(turn => store.commit(turn, sketchAnswer(turn, 'hello'))))
    ids.push(...turns.map(({ content }) => content.id))
  }
}

test('a caller’s ByteStore keeps the bytes of objects, and its errors cross the threads', async () => {
  const kept = new Map<string, Uint8Array>()
  const bytes: ByteStore = {
    name: 'of the test',
    async write(key, value) {
      if (key === 'a/refused') throw new Unavailable('Cannot store object: the bucket is away', { retryAfter: 7 })
      kept.set(key, value)
    },
    read: async key => kept.get(key),
    remove: async key => void kept.delete(key),
  }
  const options = { channels: sketchedChannels, url: makeDatabase(), now: () => 1, log: discardLog }
  const store = await openPostgresStore({ ...options, bytes })
  const put = (path: string) =>
    store.objects.putObject({ bucket: 'a', path, owner: 'ann', mime: 'text/plain', bytes: new Uint8Array([1, 2]) })
  const object = await put('b')
  expect([...kept.keys()]).toEqual(['a/b'])
  expect(await store.objects.readObject(object)).toEqual(new Uint8Array([1, 2]))
  await expect(put('refused')).rejects.toMatchObject({ name: 'Unavailable', retryAfter: 7 })
  await expect(put('b')).rejects.toThrow(new Rejection('forbidden', 'Cannot store object: there is one of this name'))
  expect(await store.objects.removeObject('ann', object)).toBe(true)
  expect(kept.size).toBe(0)
  await put('left')
  await store.close()
  const later = await openPostgresStore(options)
  const left = { owner: 'ann', bucket: 'a', path: 'left', storage: 'of the test' }
  expect(await later.objects.removeObjects('ann')).toEqual({ removed: 0, unreachable: [left] })
  expect(await later.objects.removeObjects('ann', { leavesBytes: true })).toEqual({ removed: 1, unreachable: [] })
  await later.close()
})

test('admit() refuses an id that is too long for an index, and accepts the other messages', async () => {
  const { store } = await openPostgresTestStore()
  const long = randomBytes(4_000).toString('base64')
  const ends = await Promise.allSettled(['m1', long, 'm2'].map(id => store.admit(sketchIntake(id), 'c')))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(ends[1]).toMatchObject({
    reason: new Rejection('too_large', 'Cannot store: an identifier is too long'),
  })
  expect((await store.count()).messages.received).toBe(2)
  await store.close()
})

test.each([Number.NaN, undefined])('a read that the server refuses for its limit %s fails alone', async limit => {
  const { store } = await openPostgresTestStore()
  const filter = { owner: 'ada', limit: limit as number }
  const ends = await Promise.allSettled([
    store.findTask(adasTask),
    store.listTasks(filter),
    store.transcript.isLocked({ owner: 'ada', thread_id: 'none' }),
  ])
  expect(ends).toMatchObject([{ value: undefined }, { reason: { name: 'StatementFailed' } }, { value: false }])
  await store.close()
})

test('large bytes return unchanged', async () => {
  const { store } = await openPostgresTestStore()
  const bytes = randomBytes(12 * 1024 * 1024)
  const digest = hash('sha256', bytes)
  await store.admit(sketchIntake('m1', { raw: { bytes, form: 'text' }, blobs: [{ digest, bytes }] }), 'c')
  expect(Buffer.compare((await store.findBlob(digest))?.bytes ?? new Uint8Array(), bytes)).toBe(0)
  const [turn] = await store.leaseTurns(request)
  expect(turn?.content.raw).toBe(bytes.toString('latin1'))
  await store.close()
})

test('rewriteFiles() refuses, because the files belong to the database server', async () => {
  const { store } = await openPostgresTestStore()
  await expect(store.rewriteFiles()).rejects.toThrow(
    new Rejection('unsupported', "Cannot rewrite: the files are the database server's, whose VACUUM FULL does it"),
  )
  await store.close()
})

test('the store keeps characters that PostgreSQL cannot store', async () => {
  const { store } = await openPostgresTestStore()
  const id = 'nul \0 mark \u001a0 \u001a1'
  await store.admit(sketchIntake(id, { aliases: ['\0'], target: { words: '\0\ud800' } }), 'c\0')
  const [turn] = await store.leaseTurns(request)
  expect(turn).toMatchObject({ content: { id }, target: { words: '\0\ud800' }, correlationId: 'c\0' })
  expect(await store.findMessage(id)).toMatchObject({ message: { id } })
  expect(await store.admit(sketchIntake(id), 'c')).toMatchObject({ outcome: 'duplicate' })
  // A deletion changes the JSON that contains them.
  const authorship = { author: 'ada\0', object: id }
  const display_name = '\0\ud800"\u001a'
  const sender = { address: '@ada@peer.test', display_name, auth_method: 'none' as const, verified: false }
  await store.admit(sketchIntake('m2', { authorship, message: { sender }, flags: ['a"\0'] }), 'c')
  await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
  const forgotten = await store.findMessage('m2')
  expect(forgotten).toMatchObject({ flags: ['a"\0', 'deleted'], message: { sender: { address: '@ada@peer.test' } } })
  expect(forgotten?.message.sender.display_name).toBeUndefined()
  await store.close()
})

test('json_remove() removes members of a document, and keeps the rest', async () => {
  const { store, url } = await openPostgresTestStore()
  const remove = async (document: object, ...paths: readonly string[]) => {
    const [row] = await askServer<{ text: string }>(
      `SELECT json_remove('${JSON.stringify(document)}', ${paths.map(path => `'${path}'`).join(', ')}) AS text`,
      schemaOf(url),
    )
    return JSON.parse(row?.text ?? 'null')
  }
  const odd = '\0 \u001a0 \ud800 \\\\u0000 🦆'
  expect(await remove({ a: { b: odd, c: [odd], d: 1 }, e: odd }, '$.a.d', '$.e', '$.none.b')).toEqual({
    a: { b: odd, c: [odd] },
  })
  expect(await remove({ a: 1 }, '$.a.b', '$.a')).toEqual({})
  await store.close()
})

test('a write rejects with Unavailable when its connection breaks, without effect, and the next one reconnects', async () => {
  const { store, url } = await openPostgresTestStore()
  await store.admit(sketchIntake('m1'), 'c')
  const sendAll = (from: number) =>
    Promise.allSettled(Array.from({ length: 30 }, (_, at) => store.admit(sketchIntake(`n${from + at}`), 'c')))
  const sending = sendAll(0)
  await askServer(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postern ${schemaOf(url)}'`,
  )
  for (const outcome of await sending) {
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Unavailable)
  }
  const isAdmitted = await untilAdmitted(store)
  expect(isAdmitted).toBe(true)
  for (let at = 0; at < 30; at += 1) await store.admit(sketchIntake(`n${at}`), 'c')
  expect((await store.count()).messages.received).toBe(32)
  await store.close()
})

/** Repeats a message, like a peer, until it is admitted. */
async function untilAdmitted(store: GatewayStore): Promise<boolean> {
  for (;;) {
    try {
      await store.admit(sketchIntake('last'), 'c')
      return true
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}
