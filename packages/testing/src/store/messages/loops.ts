// Tests that a store holds back agents that repeat themselves or talk without a person.

import { defaultLoopLimits } from '@postern/message'
import type { AdmissionRule, Intake, Store } from '@postern/pipeline'
import { admitOwn, createLoopRule } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import { inThread, sketchIntake, withStore } from '../setup/under-test.ts'

const text = (content: string) => [{ kind: 'text', mime: 'text/plain', content } as const]
const fromAgent = { flags: ['from_agent'] } satisfies IntakeSketch
const minute = 60_000

/** Admits a message. Returns whether it has a turn, and its flags. */
async function admit(
  store: Store,
  intake: Intake,
  ...rules: readonly AdmissionRule[]
): Promise<readonly [boolean, readonly string[]]> {
  const { message } = await admitOwn(intake, { rules, store }, 'c')
  const { state, flags } = (await store.findMessage(`#${message}`)) ?? { state: 'ignored', flags: ['lost'] }
  return [state !== 'ignored', flags]
}

/** Returns a text for each number. These texts have no words in common. */
const otherIntake = (n: number) =>
  text(['one', 'two', 'three'].map(word => `${word}${String.fromCharCode(97 + n)}`).join(' '))

export function loopContract(openStore: OpenStore): void {
  describe('loops', () => {
    test(
      'the store holds back an agent that repeats itself for the fourth time in a thread',
      withStore(openStore, async ({ store, now }) => {
        const rule = createLoopRule(defaultLoopLimits)
        const received_at = new Date(now()).toISOString()
        const admitText = (id: string, thread: string, words: string) =>
          admit(
            store,
            sketchIntake(id, inThread(thread, { ...fromAgent, message: { parts: text(words), received_at } })),
            rule,
          )
        for (const id of ['m1', 'm2', 'm3']) {
          expect(await admitText(id, 't', `out of office, ticket ${id}`)).toEqual([true, ['from_agent']])
        }
        expect(await admitText('m4', 't', 'out of office, ticket m4')).toEqual([false, ['from_agent', 'loop_guard']])
        expect(await admitText('m5', 'u', 'out of office, ticket m5')).toEqual([true, ['from_agent']])
        expect(await admitText('m6', 't', 'I am back')).toEqual([true, ['from_agent']])
        expect((await store.count()).stopped).toEqual({ loop_guard: 1, hop_limit: 0 })
      }),
    )
    test(
      'the store holds back agents after many turns without a person, until one writes or days pass',
      withStore(openStore, async ({ store, advance, now }) => {
        const rule = createLoopRule({ ...defaultLoopLimits, turnsWithoutPerson: 3 })
        let count = 0
        const admitSketch = (sketch: IntakeSketch = {}) => {
          count += 1
          advance(minute)
          const message = { parts: otherIntake(count), received_at: new Date(now()).toISOString() }
          return admit(store, sketchIntake(`m${count}`, inThread('t', { ...sketch, message })), rule)
        }
        for (let turn = 0; turn < 3; turn += 1) expect((await admitSketch(fromAgent))[0]).toBe(true)
        expect(await admitSketch(fromAgent)).toEqual([false, ['from_agent', 'loop_guard']])
        expect(await admitSketch()).toEqual([true, []])
        for (let turn = 0; turn < 3; turn += 1) expect((await admitSketch(fromAgent))[0]).toBe(true)
        expect((await admitSketch(fromAgent))[0]).toBe(false)
        advance(8 * 24 * 60 * minute)
        expect((await admitSketch(fromAgent))[0]).toBe(true)
      }),
    )
    test(
      'all agents together have a limited number of turns per thread and hour',
      withStore(openStore, async ({ store, advance }) => {
        const rule = createLoopRule({ ...defaultLoopLimits, agentTurns: 2 })
        let count = 0
        const admitFrom = (address: string) => {
          count += 1
          const sender = { address, auth_method: 'none', verified: false } as const
          const message = { sender, parts: otherIntake(count) }
          return admit(store, sketchIntake(`m${count}`, inThread('t', { ...fromAgent, message })), rule)
        }
        expect(await admitFrom('@a@x.test')).toEqual([true, ['from_agent']])
        expect(await admitFrom('@b@y.test')).toEqual([true, ['from_agent']])
        expect(await admitFrom('@c@z.test')).toEqual([false, ['from_agent', 'loop_guard']])
        advance(61 * minute)
        expect(await admitFrom('@a@x.test')).toEqual([true, ['from_agent']])
      }),
    )
    test(
      'the store counts a message that an endpoint keeps because its chain is too long',
      withStore(openStore, async ({ store }) => {
        await store.admit(sketchIntake('m1', { disposition: 'keep', flags: ['from_agent', 'hop_limit'] }), 'c')
        expect((await store.count()).stopped).toEqual({ loop_guard: 0, hop_limit: 1 })
        const [summary] = await store.listMessages({ limit: 1 })
        expect(summary?.flags).toEqual(['from_agent', 'hop_limit'])
      }),
    )
  })
}
