import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSqliteDesk } from '@postern/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { attestationForm } from '../src/attestation.ts'
import { createEvidenceUses } from '../src/uses.ts'
import { attestationCases } from './attestation-cases.ts'
import { audience, now } from './case.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const [good] = attestationCases
const evidence = attestationForm.read(good?.evidence as Record<string, unknown>, { audience })

let desk: Awaited<ReturnType<typeof openSqliteDesk>>
beforeEach(async () => {
  desk = await openSqliteDesk({ path: ':memory:', now: () => now, log })
})
afterEach(() => desk.close())

/** The real desk, behind a network: whose the first use was is known only a while later. */
function slowDown() {
  return {
    async consumeOnce(key: string, until: number) {
      if (key.includes('alice') && until > 0) for (let turn = 0; turn < 20; turn += 1) await nextTurn()
      return desk.consumeOnce(key, until)
    },
  }
}

test('the same message twice at once has its evidence twice, however slow the desk is', async () => {
  const uses = createEvidenceUses(slowDown())
  const take = () => uses.take(evidence, { sender: 'alice', messageId: 'm' })
  expect(await Promise.all([take(), take(), take()])).toEqual([true, true, true])
})

test('a desk that fails once does not keep the next one waiting', async () => {
  let calls = 0
  const failing = {
    async consumeOnce(key: string, until: number) {
      calls += 1
      if (calls === 1) throw new Error('disk full')
      return desk.consumeOnce(key, until)
    },
  }
  const uses = createEvidenceUses(failing)
  const take = () => uses.take(evidence, { sender: 'alice', messageId: 'm' })
  const [first, second] = await Promise.allSettled([take(), take()])
  expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: true }])
})
