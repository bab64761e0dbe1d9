// Tests the admission of messages: duplicates, raw bytes, dispositions and refusals.
import type { Intake } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  admitAll,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sketchIntake,
  toDeliveryPlan,
  withStore,
} from '../setup/under-test.ts'

export function intakeContract(openStore: OpenStore): void {
  describe('intake', () => {
    describeDuplicates(openStore)
    describeRaw(openStore)
    describeDispositions(openStore)
    test(
      'refuse() never throws, and lists its records newest first in pages',
      withStore(openStore, async ({ store }) => {
        const refusals = (['malformed', 'expired', 'forbidden'] as const).map(code => ({
          at: '2026-01-01T00:00:00.000Z',
          via: 'email' as const,
          from: '192.0.2.1',
          code,
          reason: `Cannot take mail: ${code}`,
        }))
        for (const refusal of refusals) expect(store.refuse(refusal)).toBe(true)
        const [newest, second] = await store.listRefusals({ limit: 2 })
        expect([newest, second]).toEqual([
          { ...refusals[2], number: expect.any(Number) },
          { ...refusals[1], number: expect.any(Number) },
        ])
        expect(await store.listRefusals({ limit: 9, after: second?.number as number })).toMatchObject([
          refusals[0] as object,
        ])
        expect((await store.count()).refusals).toBe(3)
      }),
    )
    test(
      'refuse() stays bounded when flooded, and still counts',
      withStore(openStore, async ({ store }) => {
        const refusal = {
          at: 'now',
          via: 'a2a' as const,
          from: 'x',
          code: 'unsigned' as const,
          reason: 'Cannot verify',
        }
        for (let count = 0; count < 5_000; count++) store.refuse(refusal)
        expect((await store.count()).refusals).toBe(5_000)
        expect((await store.listRefusals({ limit: 10_000 })).length).toBeLessThan(5_000)
      }),
    )
  })
}

function describeDuplicates(openStore: OpenStore): void {
  test(
    'admit() accepts a message once and repeats its first answer',
    withStore(openStore, async ({ store }) => {
      const firstAdmission = await store.admit(sketchIntake('m1'), 'c1')
      expect(firstAdmission).toMatchObject({ outcome: 'accepted', message: expect.any(Number) })
      const secondAdmission = await store.admit(sketchIntake('m1'), 'c2')
      expect(secondAdmission).toMatchObject({ outcome: 'duplicate', message: firstAdmission.message })
      await store.admit(sketchIntake('m1'), 'c3')
      expect(await leaseTurns(store)).toHaveLength(1)
      expect(await store.findMessage('m1')).toMatchObject({ duplicates: 2, correlation_id: 'c1' })
    }),
  )
  test(
    'admit() accepts exactly one of many simultaneous copies',
    withStore(openStore, async ({ store }) => {
      const admissions = await Promise.all(Array.from({ length: 40 }, () => store.admit(sketchIntake('m1'), 'c')))
      expect(admissions.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
      expect(new Set(admissions.map(({ message }) => message)).size).toBe(1)
      expect(await store.findMessage('m1')).toMatchObject({ duplicates: 39 })
    }),
  )
  test(
    'a duplicate key counts within one channel and one agent',
    withStore(openStore, async ({ store }) => {
      const otherIntakes = [{}, { agent: 'help' }, { message: { received_via: 'email' as const } }]
      const admissions = await Promise.all(
        otherIntakes.map(otherFields => store.admit(sketchIntake('m1', otherFields), 'c')),
      )
      expect(admissions.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted'])
    }),
  )
  test(
    'the same key with another fingerprint is a conflict without effect',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1', { fingerprint: 'a' }), 'c')
      expect(await store.admit(sketchIntake('m1', { fingerprint: 'a' }), 'c')).toMatchObject({ outcome: 'duplicate' })
      const otherIntake = sketchIntake('m2', {
        fingerprint: 'b',
        duplicateKey: 'key of m1',
        deliveries: [toDeliveryPlan('x')],
      })
      expect(await store.admit(otherIntake, 'c')).toMatchObject({ outcome: 'conflict', message })
      expect(await store.findMessage('m2')).toBeUndefined()
      expect(await store.findMessage('m1')).toMatchObject({ duplicates: 1 })
      expect(await store.listMessages({ limit: 9 })).toHaveLength(1)
      expect(await leaseDeliveries(store)).toEqual([])
      await store.admit(sketchIntake('m3'), 'c')
      expect(await store.admit(sketchIntake('m3', { fingerprint: 'c' }), 'c')).toMatchObject({ outcome: 'duplicate' })
    }),
  )
}

const rawForms: readonly (readonly [string, Intake['raw'], unknown])[] = [
  ['JSON', { bytes: Buffer.from('{"a":[1,"é"]}'), form: 'json' }, { a: [1, 'é'] }],
  ['UTF-8 text', { bytes: Buffer.from('Subject: é\r\n\r\nü'), form: 'text' }, 'Subject: é\r\n\r\nü'],
  ['text that is no UTF-8', { bytes: Buffer.from([0x61, 0xe9, 0x0d]), form: 'text' }, 'aé\r'],
  ['nothing', { bytes: new Uint8Array(), form: 'text' }, ''],
  ['a large text', { bytes: Buffer.alloc(200_000, 'x'), form: 'text' }, 'x'.repeat(200_000)],
]

function describeRaw(openStore: OpenStore): void {
  test.each(rawForms)('the raw message returns as it arrived: %s', (_, raw, expected) =>
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', { raw }), 'c')
      const { content } = await leaseOnlyTurn(store)
      expect(Object.keys(content)).toContain('raw')
      expect(content.raw).toEqual(expected)
      expect(content.raw).toBe(content.raw)
      expect((await store.findMessage('m1'))?.message.raw).toEqual(expected)
    })(),
  )
  test(
    'the store keeps blobs once by their digest',
    withStore(openStore, async ({ store }) => {
      const blob = { digest: 'ab'.repeat(32), bytes: Buffer.from('picture'), mime: 'image/png' }
      const [firstIntake, secondIntake] = ['m1', 'm2'].map(id => sketchIntake(id, { blobs: [blob] }))
      await admitAll(store, [firstIntake as Intake, secondIntake as Intake])
      const foundBlob = await store.findBlob(blob.digest)
      expect(foundBlob).toMatchObject({ digest: blob.digest, mime: 'image/png' })
      expect(Buffer.from(foundBlob?.bytes ?? [])).toEqual(blob.bytes)
      expect(await store.findBlob('cd'.repeat(32))).toBeUndefined()
    }),
  )
}

function describeDispositions(openStore: OpenStore): void {
  test(
    'only the operator sees a message without an agent',
    withStore(openStore, async ({ store }) => {
      const keptIntake = sketchIntake('m1', {
        disposition: 'keep',
        flags: ['dmarc-quarantine'],
        message: { thread_source: 't' },
      })
      await store.admit(keptIntake, 'c')
      expect(await leaseTurns(store)).toEqual([])
      expect(await store.findMessage('m1')).toMatchObject({
        state: 'ignored',
        flags: ['dmarc-quarantine'],
        response: null,
      })
      await store.admit(sketchIntake('m2', { message: { thread_source: 't' } }), 'c')
      const turn = await leaseOnlyTurn(store)
      const request = { thread: turn.thread, beforeMessage: turn.message + 1_000, head: 9, tail: 9 }
      expect((await store.readHistory(request)).map(({ nativeId }) => nativeId)).toEqual(['m2'])
    }),
  )
  test(
    'handshakes leave with the acceptance, without a response, also for a message without a turn',
    withStore(openStore, async ({ store }) => {
      const handshake = { disposition: 'keep' as const, deliveries: [toDeliveryPlan('https://peer.test/inbox')] }
      await store.admit(sketchIntake('follow', handshake), 'c1')
      const [delivery] = await leaseDeliveries(store)
      expect(delivery).toMatchObject({ to: 'https://peer.test/inbox', target: { inbox: 'https://peer.test/inbox' } })
      expect(delivery).toMatchObject({ agent: 'echo', via: 'a2a', correlationId: 'c1', message: { id: 'follow' } })
      expect(delivery?.response).toBeUndefined()
    }),
  )
}
