// Tests that the first turn of a thread has the same content as a turn that the store reads back.
import type { Store, Turn } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { adasTask, sketchTaskIntake } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, leaseTurns, sayNothing, sketchIntake, withStore } from '../setup/under-test.ts'

export function firstTurnContract(openStore: OpenStore): void {
  describe('the first turn of a thread', () => {
    describeFirstTurns(openStore)
  })
}

/** Returns the content of a turn, whether it is in memory or read from the store. */
const contentOf = ({ agent, via, thread, target, flags, correlationId, task, content }: Turn) => {
  const { raw, ...message } = content
  return { agent, via, thread, target, flags, correlationId, task, message, raw }
}

async function readStoredContent(store: Store, { message }: Turn) {
  const storedTurn = await store.readTurn(message)
  return storedTurn && contentOf(storedTurn)
}

function describeFirstTurns(openStore: OpenStore): void {
  test(
    'says that it is the first, and carries the exact stored content',
    withStore(openStore, async ({ store }) => {
      const parts = [{ kind: 'text', mime: 'text/plain', content: 'Grüße\u2028"' } as const]
      await store.admit(sketchIntake('m1', { flags: ['odd'], message: { parts } }), 'c1')
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c2')
      const turns = await leaseTurns(store)
      expect(turns.map(({ isFirst }) => isFirst)).toEqual([true, true])
      for (const turn of turns) expect(contentOf(turn)).toStrictEqual(await readStoredContent(store, turn))
      expect(turns[1]?.task).toMatchObject(adasTask)
    }),
  )
  test(
    'stays unchanged for a retry, whatever an agent does to its message',
    withStore(openStore, async ({ store, now }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const content = await readStoredContent(store, turn)
      Object.assign(turn.content.sender, { address: '@else@where.test' })
      await store.release(turn, { dueAt: now() })
      const secondLease = await leaseOnlyTurn(store)
      expect(secondLease.isFirst).toBeUndefined()
      expect(contentOf(secondLease)).toStrictEqual(content)
    }),
  )
  test(
    'has no `isFirst` after another turn of its thread, or for a large message',
    withStore(openStore, async ({ store }) => {
      const bytes = new TextEncoder().encode(JSON.stringify({ id: 'm3', long: 'x'.repeat(20_000) }))
      await store.admit(sketchIntake('m1', inThread('t')), 'c')
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      await store.admit(sketchIntake('m3', { raw: { bytes, form: 'json' } }), 'c')
      const [first, large] = await leaseTurns(store)
      expect([first?.isFirst, large?.isFirst]).toEqual([true, undefined])
      expect(large?.content.raw).toMatchObject({ id: 'm3' })
      if (first) await store.commit(first, sayNothing())
      expect((await leaseOnlyTurn(store)).isFirst).toBeUndefined()
    }),
  )
  test(
    'carries its own message, also if it is too large for the store’s cache',
    withStore(openStore, async ({ store }) => {
      const ids = Array.from({ length: 300 }, (_, index) => `m${index}`)
      await Promise.all(ids.map(id => store.admit(sketchIntake(id), 'c')))
      const turns = await leaseTurns(store, 300)
      // Turns of two transactions may have another order.
      expect(new Set(turns.map(({ content }) => content.id))).toEqual(new Set(ids))
      for (const turn of [...turns.slice(0, 3), ...turns.slice(-3)])
        expect(contentOf(turn)).toStrictEqual(await readStoredContent(store, turn))
    }),
  )
}
