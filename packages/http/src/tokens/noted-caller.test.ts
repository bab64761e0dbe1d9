import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { noteCaller } from './noted-caller.ts'

test('noteCaller() calls a fetched key remembered from its second request on, and a configured one never', () => {
  const noted: unknown[] = []
  const steps = {
    note: (_: unknown, __: number, used?: UsedKey) => void noted.push(used?.from),
  } as unknown as IntakeSteps
  const proof = { kind: 'jwt', verdict: 'pass' } as Proof
  const [fetched, other, configured] = [{ from: 'fetched' }, { from: 'fetched' }, { from: 'configured' }] as UsedKey[]
  for (const usedKey of [fetched, fetched, other, fetched, configured, configured, undefined])
    noteCaller(steps, 0, { proof, usedKey })
  expect(noted).toEqual(['fetched', 'cache', 'fetched', 'cache', 'configured', 'configured', undefined])
})
