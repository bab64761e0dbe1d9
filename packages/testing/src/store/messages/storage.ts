// Tests the limits of stored bytes.
import { createHash } from 'node:crypto'
import type { Blob, Intake, StorageQuota, Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import { sketchIntake, withStore } from '../setup/under-test.ts'

const ada: StorageQuota = { sender: 'ada', isProven: true }
const eve: StorageQuota = { sender: 'eve', isProven: false }
const senderRefusal = 'Cannot store message: too much of this sender is stored'
const unprovenRefusal = 'Cannot store message: too much of senders who prove nothing is stored'

/** Sketches a message of a little more than 10,000 bytes. */
function sketchLarge(id: string, storage: StorageQuota, sketch: IntakeSketch = {}): Intake {
  const raw = { bytes: new TextEncoder().encode(JSON.stringify('x'.repeat(10_000))), form: 'json' } as const
  return sketchIntake(id, { raw, storage, authorship: { author: storage.sender, object: id }, ...sketch })
}

function makeBlob(seed: number, size = 100_000): Blob {
  const bytes = Uint8Array.from({ length: size }, (_, index) => (index * index * (seed + 1) + index * seed) % 251)
  return { digest: createHash('sha256').update(bytes).digest('hex'), bytes, mime: 'image/png' }
}

/** Breaks lines after 76 letters, as mail does. */
const foldLines = (text: string) => text.replace(/.{76}/g, '$&\r\n')

function sketchMail(id: string, blobs: readonly Blob[], storage = ada): Intake {
  const files = blobs.map(({ bytes }) => foldLines(Buffer.from(bytes).toString('base64')))
  const bytes = Buffer.from(`Subject: ${id}\r\n\r\n${files.join('\r\n--part\r\n\r\n')}\r\n--part--\r\n`)
  return sketchIntake(id, {
    raw: { bytes, form: 'text' },
    blobs,
    storage,
    authorship: { author: ada.sender, object: id },
  })
}

const forget = (store: Store, object: string, author = ada.sender) =>
  store.withdraw('a2a', [{ kind: 'forget', author, object }])

export function storageContract(openStore: OpenStore): void {
  describe('the stored bytes of a sender', () => {
    test(
      'have a limit per sender, and a duplicate of a stored message still passes',
      withStore(openStore, async ({ store }) => {
        const most = { ...ada, maxBytes: 25_000 }
        for (const id of ['m1', 'm2']) await store.admit(sketchLarge(id, most), 'c')
        const rejection = store.admit(sketchLarge('m3', most), 'c')
        await expect(rejection).rejects.toThrow(senderRefusal)
        await expect(rejection).rejects.toMatchObject({ code: 'rate_limited' })
        expect(await store.admit(sketchLarge('m2', most), 'c')).toMatchObject({ outcome: 'duplicate' })
        const otherUsage = { sender: 'bob', isProven: true, maxBytes: 25_000 }
        expect(await store.admit(sketchLarge('m4', otherUsage), 'c')).toMatchObject({ outcome: 'accepted' })
      }),
    )
    test(
      'include no withdrawn message',
      withStore(openStore, async ({ store }) => {
        const most = { ...ada, maxBytes: 15_000 }
        await store.admit(sketchLarge('m1', most), 'c')
        await expect(store.admit(sketchLarge('m2', most), 'c')).rejects.toThrow(senderRefusal)
        await forget(store, 'm1')
        expect(await store.admit(sketchLarge('m2', most), 'c')).toMatchObject({ outcome: 'accepted' })
      }),
    )
    test(
      'admit as many of simultaneous messages as one after another',
      withStore(openStore, async ({ store }) => {
        const most = { ...ada, maxBytes: 75_000 }
        const ids = Array.from({ length: 40 }, (_, index) => `m${index + 10}`)
        const ends = await Promise.allSettled(ids.map(id => store.admit(sketchLarge(id, most), 'c')))
        expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(7)
      }),
    )
    test(
      'have a common limit for all unproven senders, which proven ones do not use',
      withStore(openStore, async ({ store }) => {
        const storageOf = (sender: string) => ({ ...eve, sender, maxUnprovenBytes: 45_000 })
        for (const id of ['m1', 'm2', 'm3', 'm4']) await store.admit(sketchLarge(id, storageOf(`eve ${id}`)), 'c')
        await expect(store.admit(sketchLarge('m5', storageOf('another')), 'c')).rejects.toThrow(unprovenRefusal)
        const proven = { ...ada, maxUnprovenBytes: 45_000 }
        expect(await store.admit(sketchLarge('m6', proven), 'c')).toMatchObject({ outcome: 'accepted' })
      }),
    )
    test(
      'do not include messages of the gateway itself',
      withStore(openStore, async ({ store }) => {
        const { storage: _, ...ownMembers } = sketchLarge('m1', eve)
        await store.admit(ownMembers, 'c')
        const most = { ...eve, maxBytes: 15_000, maxUnprovenBytes: 15_000 }
        expect(await store.admit(sketchLarge('m2', most), 'c')).toMatchObject({ outcome: 'accepted' })
      }),
    )
  })
  describeParts(openStore)
}

/** Returns a quota that fits the raw bytes and the text of a message, with some slack. */
const quotaFor = ({ raw, message }: Intake, spareBytes = 2_000) =>
  raw.bytes.byteLength + JSON.stringify(message).length + spareBytes

function describeParts(openStore: OpenStore): void {
  describe('an attachment in raw bytes', () => {
    test(
      'needs no second copy, and reads back byte for byte',
      withStore(openStore, async ({ store }) => {
        const blobs = [makeBlob(1), makeBlob(2, 99_998), makeBlob(3, 8_193)]
        const mail = sketchMail('m1', blobs)
        await store.admit({ ...mail, storage: { ...ada, maxBytes: quotaFor(mail) } }, 'c')
        for (const { digest, bytes, mime } of blobs) {
          const blob = await store.findBlob(digest)
          expect(blob?.mime).toBe(mime)
          expect(Buffer.from(blob?.bytes ?? []).equals(bytes)).toBe(true)
        }
        const raw = (await store.findArrival(1))?.raw ?? new Uint8Array()
        expect(Buffer.from(raw).equals(mail.raw.bytes)).toBe(true)
      }),
    )
    test(
      'has its own copy if the raw bytes only seem to contain it',
      withStore(openStore, async ({ store }) => {
        const blob = makeBlob(4)
        const { raw, ...mail } = sketchMail('m1', [blob])
        const bytes = Buffer.from(raw.bytes)
        bytes.write('AAAA', 60_000)
        await store.admit({ ...mail, raw: { ...raw, bytes } }, 'c')
        expect(Buffer.from((await store.findBlob(blob.digest))?.bytes ?? []).equals(blob.bytes)).toBe(true)
      }),
    )
    test(
      'disappears with its withdrawn message, and another message’s attachment stays',
      withStore(openStore, async ({ store }) => {
        const [sharedBlob, ownBlob] = [makeBlob(5), makeBlob(6)]
        await store.admit(sketchMail('m1', [sharedBlob, ownBlob]), 'c')
        await store.admit(sketchMail('m2', [sharedBlob]), 'c')
        await forget(store, 'm1')
        expect(await store.findBlob(ownBlob.digest)).toBeUndefined()
        expect(Buffer.from((await store.findBlob(sharedBlob.digest))?.bytes ?? []).equals(sharedBlob.bytes)).toBe(true)
        await forget(store, 'm2')
        expect(await store.findBlob(sharedBlob.digest)).toBeUndefined()
      }),
    )
  })
}
