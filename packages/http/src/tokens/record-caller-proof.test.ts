import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { recordCallerProof } from './record-caller-proof.ts'

test('noteCaller() marks a fetched key as cached from its second request on, and a configured key never', () => {
  const recordedSteps: unknown[] = []
  const steps = {
    note: (_: unknown, __: number, usedKey?: UsedKey) => void recordedSteps.push(usedKey?.from),
  } as unknown as IntakeSteps
  const proof = { kind: 'jwt', verdict: 'pass' } as Proof
  const [fetched, other, configured] = [{ from: 'fetched' }, { from: 'fetched' }, { from: 'configured' }] as UsedKey[]
  for (const usedKey of [fetched, fetched, other, fetched, configured, configured, undefined])
    recordCallerProof(steps, 0, { proof, usedKey })
  expect(recordedSteps).toEqual(['fetched', 'cache', 'fetched', 'cache', 'configured', 'configured', undefined])
})
