// Tests the deletion of old data on both engines.
import { createHash } from 'node:crypto'
import { isoTime } from '@postern/message'
import type { Blob, Intake, StorageQuota } from '@postern/pipeline'
import type { StoreUnderTest } from '@postern/testing'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import type { GatewayStore } from '../src/index.ts'
import type { FindUnsound } from './soundness-model.ts'

interface TestedStore extends Pick<StoreUnderTest, 'now' | 'advance'> {
  readonly store: GatewayStore
  readonly findUnsound: FindUnsound
}

const dayMs = 24 * 3_600_000
const proven: StorageQuota = { sender: 'ada', isProven: true }
const unproven: StorageQuota = { sender: 'eve', isProven: false }

function makeBlob(seed: number): Blob {
  const bytes = Uint8Array.from({ length: 20_000 }, (_, at) => (at * at + at * seed) % 251)
  return { digest: createHash('sha256').update(bytes).digest('hex'), bytes, mime: 'image/png' }
}

function sketchFile(
  id: string,
  { now }: TestedStore,
  options: { blobs?: readonly Blob[]; isInRaw?: boolean; storage?: StorageQuota },
): Intake {
  const { blobs = [], isInRaw = true, storage = proven } = options
  const files = isInRaw ? blobs.map(({ bytes }) => Buffer.from(bytes).toString('base64')) : []
  const parts = blobs.map(({ digest }) => {
    const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
    return { kind: 'file', mime: 'image/png', name: 'cat.png', bytes_ref } as const
  })
  return sketchIntake(id, {
    storage,
    blobs,
    raw: { bytes: new TextEncoder().encode(JSON.stringify({ id, files })), form: 'json' },
    message: {
      received_at: isoTime(now()),
      parts: [{ kind: 'text', mime: 'text/plain', content: id }, ...parts],
    },
  })
}

async function answerAll({ store }: TestedStore): Promise<void> {
  for (const turn of await store.leaseTurns({ holder: 'worker', limit: 99, leaseMs: 60_000 })) {
    await store.commit(turn, sketchAnswer(turn, 'done'))
  }
}

const none = { messages: 0, unproven: 0, raw: 0, files: 0, refused: 0 }

/** Tests the deletion of data by age, whatever the engine. */
export function retentionContract(open: () => Promise<TestedStore>): void {
  const withTested = (run: (tested: TestedStore) => Promise<void>) => async () => {
    const tested = await open()
    await run(tested)
    expect(await tested.findUnsound()).toEqual([])
    await tested.store.close()
  }

  test(
    'prune() deletes old messages of unproven senders, and previews that first',
    withTested(async tested => {
      const { store, now, advance } = tested
      await store.admit(sketchFile('old proven', tested, {}), 'c')
      await store.admit(sketchFile('old', tested, { blobs: [makeBlob(1)], storage: unproven }), 'c')
      await answerAll(tested)
      advance(2 * dayMs)
      await store.admit(sketchFile('young', tested, { storage: unproven }), 'c')
      await answerAll(tested)
      const cutoffs = { unproven: isoTime(now() - dayMs) }
      const planned = await store.prune(cutoffs, { isDry: true })
      expect(planned).toMatchObject({ ...none, unproven: 1 })
      expect(planned.bytes).toBeGreaterThan(20_000)
      expect(await store.findMessage('old')).toBeDefined()
      expect(await store.prune(cutoffs)).toEqual(planned)
      expect(await store.findMessage('old')).toBeUndefined()
      expect(await store.findBlob(makeBlob(1).digest)).toBeUndefined()
      expect(await store.findMessage('old proven')).toBeDefined()
      expect(await store.findMessage('young')).toBeDefined()
      expect(await store.prune(cutoffs)).toEqual({ ...none, bytes: 0 })
    }),
  )

  test(
    'a message with running work stays at any age',
    withTested(async tested => {
      const { store, now, advance } = tested
      await store.admit(sketchFile('open', tested, {}), 'c')
      advance(9 * dayMs)
      expect(await store.prune({ messages: isoTime(now()) })).toEqual({ ...none, bytes: 0 })
      await answerAll(tested)
      expect(await store.prune({ messages: isoTime(now()) })).toMatchObject({ ...none, messages: 1 })
      expect(await store.count()).toMatchObject({ messages: { answered: 0, received: 0 } })
    }),
  )

  test(
    'raw bytes expire separately, and attachments that only they contain stay',
    withTested(async tested => {
      const { store, now, advance } = tested
      const [inRaw, apart] = [makeBlob(2), makeBlob(3)]
      await store.admit(sketchFile('m1', tested, { blobs: [inRaw] }), 'c')
      await store.admit(sketchFile('m2', tested, { blobs: [apart], isInRaw: false }), 'c')
      await answerAll(tested)
      advance(dayMs)
      expect(await store.prune({ raw: isoTime(now()) })).toMatchObject({ ...none, raw: 2 })
      for (const { digest, bytes } of [inRaw, apart]) {
        expect(Buffer.from((await store.findBlob(digest))?.bytes ?? []).equals(bytes)).toBe(true)
      }
      expect((await store.findArrival(1))?.raw).toBeUndefined()
      expect((await store.findMessage('m1'))?.message.parts).toMatchObject([{ content: 'm1' }, { kind: 'file' }])
      expect(await store.prune({ raw: isoTime(now()) })).toEqual({ ...none, bytes: 0 })
    }),
  )

  test(
    'an edited text keeps attachments in its raw bytes, even if the former text had them elsewhere',
    withTested(async tested => {
      const { store } = tested
      const [same, fresh] = [makeBlob(6), makeBlob(7)]
      const authorship = { author: 'https://peer.test/ada', object: 'note' }
      await store.admit({ ...sketchFile('m1', tested, { blobs: [same] }), authorship }, 'c')
      await answerAll(tested)
      const edit = sketchFile('e1', tested, { blobs: [fresh, same] })
      await store.admit({ ...edit, authorship, message: { ...edit.message, kind: 'edit' } }, 'c')
      expect(await tested.findUnsound()).toEqual([])
      await answerAll(tested)
      for (const { digest, bytes } of [same, fresh]) {
        expect(Buffer.from((await store.findBlob(digest))?.bytes ?? []).equals(bytes)).toBe(true)
      }
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      for (const { digest } of [same, fresh]) expect(await store.findBlob(digest)).toBeUndefined()
    }),
  )

  test(
    'files expire separately, with the raw bytes that contain them, and text replaces them',
    withTested(async tested => {
      const { store, now, advance } = tested
      const [inRaw, apart] = [makeBlob(4), makeBlob(5)]
      await store.admit(sketchFile('m1', tested, { blobs: [inRaw] }), 'c')
      await store.admit(sketchFile('m2', tested, { blobs: [apart], isInRaw: false }), 'c')
      await answerAll(tested)
      advance(dayMs)
      expect(await store.prune({ files: isoTime(now()) })).toMatchObject({ ...none, files: 2, raw: 1 })
      for (const { digest } of [inRaw, apart]) expect(await store.findBlob(digest)).toBeUndefined()
      const { message } = (await store.findMessage('m2')) ?? {}
      expect(message?.parts[1]).toMatchObject({
        kind: 'text',
        content: expect.stringContaining('file cat.png: deleted'),
      })
      expect((await store.findArrival(2))?.raw).toBeDefined()
    }),
  )

  test(
    'old refusals expire, and recent ones stay',
    withTested(async ({ store, now, advance }) => {
      const refuse = () =>
        store.refuse({ at: isoTime(now()), via: 'a2a', from: 'x', code: 'unsigned', reason: 'Cannot verify' })
      refuse()
      await store.count()
      advance(2 * dayMs)
      refuse()
      await store.count()
      const cutoffs = { refused: isoTime(now() - dayMs) }
      expect(await store.prune(cutoffs, { isDry: true })).toMatchObject({ ...none, refused: 1 })
      expect(await store.prune(cutoffs)).toMatchObject({ ...none, refused: 1 })
      expect(await store.listRefusals({ limit: 9 })).toHaveLength(1)
    }),
  )
}
