import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { recordCallerProof } from './record-caller-proof.ts'

test('recordCallerProof() marks a fetched key as cached from its second request on, and a configured key never', () => {
  const keyOrigins: unknown[] = []
  const steps = {
    recordCheck: (_: unknown, __: number, usedKey?: UsedKey) => void keyOrigins.push(usedKey?.from),
  } as unknown as IntakeSteps
  const proof = { kind: 'jwt', verdict: 'pass' } as Proof
  const fetchedKey = { from: 'fetched' } as UsedKey
  const otherKey = { from: 'fetched' } as UsedKey
  const configuredKey = { from: 'configured' } as unknown as UsedKey
  for (const usedKey of [fetchedKey, fetchedKey, otherKey, fetchedKey, configuredKey, configuredKey, undefined])
    recordCallerProof(steps, 0, { proof, usedKey })
  expect(keyOrigins).toEqual(['fetched', 'cache', 'fetched', 'cache', 'configured', 'configured', undefined])
})
