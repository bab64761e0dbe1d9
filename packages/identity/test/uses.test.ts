import { setImmediate as nextTurn } from 'node:timers/promises'
import { noLog } from '@postern/message'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { attestationFormat } from '../src/connector/attestation.ts'
import { createEvidenceUses } from '../src/evidence/evidence-uses.ts'
import { attestationCases } from './attestation-cases.ts'
import { audience, now } from './fixtures.ts'

const [good] = attestationCases
const evidence = attestationFormat.read(good?.evidence as Record<string, unknown>, { audience })

let store: Awaited<ReturnType<typeof openSqliteStore>>
beforeEach(async () => {
  store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => now, log: noLog })
})
afterEach(() => store.close())

/** Slows down the real store, as a network would, so that the first use is decided only later. */
function delayConsume() {
  return {
    async consumeOnce(key: string, expiresAt: number) {
      if (key.includes('alice') && expiresAt > 0) for (let turn = 0; turn < 20; turn += 1) await nextTurn()
      return store.consumeOnce(key, expiresAt)
    },
  }
}

test('two concurrent copies of one message both keep their evidence, even with a slow store', async () => {
  const useEvidence = createEvidenceUses(delayConsume())
  const useOnce = () => useEvidence(evidence, { sender: 'alice', messageId: 'm' })
  expect(await Promise.all([useOnce(), useOnce(), useOnce()])).toEqual([true, true, true])
})

test('one failure of the store does not block the next message', async () => {
  let calls = 0
  const failing = {
    async consumeOnce(key: string, expiresAt: number) {
      calls += 1
      if (calls === 1) throw new Error('disk full')
      return store.consumeOnce(key, expiresAt)
    },
  }
  const useEvidence = createEvidenceUses(failing)
  const useOnce = () => useEvidence(evidence, { sender: 'alice', messageId: 'm' })
  const [first, second] = await Promise.allSettled([useOnce(), useOnce()])
  expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: true }])
})
