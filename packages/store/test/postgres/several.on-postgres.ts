import { hash, randomBytes } from 'node:crypto'
import type { ByteStore } from '@postern/core'
import { LeaseLost, Rejection, Unavailable } from '@postern/core'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import type { StoreDesk } from '../../src/index.ts'
import { openPostgresDesk } from '../../src/index.ts'
import { silentLog } from '../open-test-desk.ts'
import { makeDatabase, openPostgresTestDesk, schemaOf } from './open-postgres-test-desk.ts'
import { askServer } from './test-server.ts'

const request = { holder: 'worker', limit: 10, leaseMs: 30_000 }

/** Two gateways at one database. */
async function openTwo() {
  const tested = await openPostgresTestDesk()
  const other = (await tested.reopen?.()) as StoreDesk
  const close = () => Promise.all([tested.desk.close(), other.close()])
  return { ...tested, other, close }
}

function nextNotice(desk: StoreDesk, topic: string): Promise<unknown> {
  return new Promise(resolve => {
    const unlisten = desk.listen(topic, payload => {
      unlisten()
      resolve(payload)
    })
  })
}

describe('two desks at one database', () => {
  test('hear what makes work ready, and of the end of turns, whoever does it', async () => {
    const { desk, other, close } = await openTwo()
    const ready = nextNotice(other, 'work')
    const { message } = await desk.admit(sketchIntake('m1'), 'c')
    await ready
    const settled = nextNotice(desk, `message:${message}`)
    const [turn] = await other.leaseTurns(request)
    if (!turn) throw new Error('no turn is due')
    await other.commit(turn, sketchAnswer(turn, 'hello'))
    expect(await settled).toEqual({ kind: 'settled' })
    expect(await desk.findMessage('m1')).toMatchObject({ state: 'answered' })
    await close()
  })

  test('tell each other what an agent says meanwhile, however long it is and whatever it holds', async () => {
    const { desk, other, close } = await openTwo()
    const chunk = { kind: 'part', chunk: 'ä🦆\0\u001a\ud800'.repeat(10_000) }
    const heard = nextNotice(other, 'message:7')
    desk.notify('message:7', chunk)
    expect(await heard).toEqual(chunk)
    await close()
  })

  test('one takes over from the other, which comes too late', async () => {
    const { desk, other, advance, close } = await openTwo()
    await desk.admit(sketchIntake('m1'), 'c')
    const [lost] = await desk.leaseTurns(request)
    expect(await other.leaseTurns(request)).toEqual([])
    advance(request.leaseMs)
    const [turn] = await other.leaseTurns(request)
    expect(turn).toMatchObject({ attempt: 2, content: { id: 'm1', raw: { id: 'm1' } } })
    if (!turn || !lost) throw new Error('no turn is due')
    await expect(desk.commit(lost, sketchAnswer(lost, 'late'))).rejects.toThrow(LeaseLost)
    await other.commit(turn, sketchAnswer(turn, 'in time'))
    await close()
  })

  test('give each turn once, and count to the end, whoever asks at the same time', async () => {
    const { desk, other, close } = await openTwo()
    const desks = [desk, other]
    const ids = Array.from({ length: 120 }, (_, at) => `m${at}`)
    await Promise.all(ids.map((id, at) => desks[at % 2]?.admit(sketchIntake(id), 'c')))
    // What two doors are told at once is one message.
    const again = await Promise.all(
      ids.slice(0, 20).flatMap(id => desks.map(each => each.admit(sketchIntake(id), 'c'))),
    )
    expect(again.every(({ outcome }) => outcome === 'duplicate')).toBe(true)
    const answered = await Promise.all(desks.map(answerAll))
    expect(answered.flat().toSorted()).toEqual(ids.toSorted())
    expect((await other.count()).messages).toMatchObject({ answered: 120, received: 0, working: 0 })
    await close()
  })
})

async function answerAll(desk: StoreDesk): Promise<readonly string[]> {
  const ids: string[] = []
  for (;;) {
    const turns = await desk.leaseTurns({ ...request, limit: 7 })
    if (turns.length === 0) return ids
    await Promise.all(turns.map(turn => desk.commit(turn, sketchAnswer(turn, 'hello'))))
    ids.push(...turns.map(({ content }) => content.id))
  }
}

test('bytes of objects may lie elsewhere: who keeps them is asked across the threads, and his errors come back', async () => {
  const kept = new Map<string, Uint8Array>()
  const bytes: ByteStore = {
    async write(key, value) {
      if (key === 'a/refused') throw new Unavailable('Cannot store object: the bucket is away', { retryAfter: 7 })
      kept.set(key, value)
    },
    read: async key => kept.get(key),
    remove: async key => void kept.delete(key),
  }
  const desk = await openPostgresDesk({ url: makeDatabase(), now: () => 1, log: silentLog, bytes })
  const put = (path: string) =>
    desk.objects.putObject({ bucket: 'a', path, owner: 'ann', mime: 'text/plain', bytes: new Uint8Array([1, 2]) })
  const object = await put('b')
  expect([...kept.keys()]).toEqual(['a/b'])
  expect(await desk.objects.readObject(object)).toEqual(new Uint8Array([1, 2]))
  await expect(put('refused')).rejects.toMatchObject({ name: 'Unavailable', retryAfter: 7 })
  await expect(put('b')).rejects.toThrow(new Rejection('forbidden', 'Cannot store object: there is one of this name'))
  expect(await desk.objects.removeObject('ann', object)).toBe(true)
  expect(kept.size).toBe(0)
  await desk.close()
})

test('an id that no index takes is refused, and takes nobody with it', async () => {
  const { desk } = await openPostgresTestDesk()
  const long = randomBytes(4_000).toString('base64')
  const ends = await Promise.allSettled(['m1', long, 'm2'].map(id => desk.admit(sketchIntake(id), 'c')))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(ends[1]).toMatchObject({
    reason: new Rejection('too_large', 'Cannot store: an identifier is too long'),
  })
  expect((await desk.count()).messages.received).toBe(2)
  await desk.close()
})

test('large bytes go in and come out', async () => {
  const { desk } = await openPostgresTestDesk()
  const bytes = randomBytes(12 * 1024 * 1024)
  const digest = hash('sha256', bytes)
  await desk.admit(sketchIntake('m1', { raw: { bytes, form: 'text' }, blobs: [{ digest, bytes }] }), 'c')
  expect(Buffer.compare((await desk.findBlob(digest))?.bytes ?? new Uint8Array(), bytes)).toBe(0)
  const [turn] = await desk.leaseTurns(request)
  expect(turn?.content.raw).toBe(bytes.toString('latin1'))
  await desk.close()
})

test('what lies in the files of a server is not ours to write anew, and nobody is told it was', async () => {
  const { desk } = await openPostgresTestDesk()
  await expect(desk.rewriteFiles()).rejects.toThrow(
    new Rejection('unsupported', "Cannot rewrite: the files are the database server's, whose VACUUM FULL does it"),
  )
  await desk.close()
})

test('letters that PostgreSQL does not keep are kept', async () => {
  const { desk } = await openPostgresTestDesk()
  const id = 'nul \0 mark \u001a0 \u001a1'
  await desk.admit(sketchIntake(id, { aliases: ['\0'], target: { words: '\0\ud800' } }), 'c\0')
  const [turn] = await desk.leaseTurns(request)
  expect(turn).toMatchObject({ content: { id }, target: { words: '\0\ud800' }, correlationId: 'c\0' })
  expect(await desk.findMessage(id)).toMatchObject({ message: { id } })
  expect(await desk.admit(sketchIntake(id), 'c')).toMatchObject({ outcome: 'duplicate' })
  // Taking it back changes the JSON in which they are.
  const authorship = { author: 'ada\0', object: id }
  const display_name = '\0\ud800"\u001a'
  const sender = { address: '@ada@peer.test', display_name, auth_method: 'none' as const, verified: false }
  await desk.admit(sketchIntake('m2', { authorship, message: { sender }, flags: ['a"\0'] }), 'c')
  await desk.withdraw('a2a', [{ kind: 'forget', ...authorship }])
  const forgotten = await desk.findMessage('m2')
  expect(forgotten).toMatchObject({ flags: ['a"\0', 'deleted'], message: { sender: { address: '@ada@peer.test' } } })
  expect(forgotten?.message.sender.display_name).toBeUndefined()
  await desk.close()
})

test('what is taken out of a document leaves the rest of it as it was', async () => {
  const { desk, url } = await openPostgresTestDesk()
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
  await desk.close()
})

test('a write whose connection breaks is told so, and nothing of it stays; the next one finds a new connection', async () => {
  const { desk, url } = await openPostgresTestDesk()
  await desk.admit(sketchIntake('m1'), 'c')
  const sendAll = (from: number) =>
    Promise.allSettled(Array.from({ length: 30 }, (_, at) => desk.admit(sketchIntake(`n${from + at}`), 'c')))
  const sending = sendAll(0)
  await askServer(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postern ${schemaOf(url)}'`,
  )
  for (const outcome of await sending) {
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Unavailable)
  }
  const known = await untilAdmitted(desk)
  expect(known).toBe(true)
  for (let at = 0; at < 30; at += 1) await desk.admit(sketchIntake(`n${at}`), 'c')
  expect((await desk.count()).messages.received).toBe(32)
  await desk.close()
})

/** As a peer does: again and again. */
async function untilAdmitted(desk: StoreDesk): Promise<boolean> {
  for (;;) {
    try {
      await desk.admit(sketchIntake('last'), 'c')
      return true
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}
