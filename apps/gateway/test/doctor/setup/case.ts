// Runs one check of the doctor, and compares its findings with the expected ones.
import type { CheckOutcome, DoctorDeps } from '@postern/operator'
import { findMissingNeed, installationChecks, machineChecks } from '@postern/operator/doctor'
import { expect } from 'vitest'

/** One installation for a check: the examination, and a text of the expected finding. */
interface Scenario {
  examine(): Promise<readonly CheckOutcome[]>
  readonly says: string | RegExp
}

/** One installation for each check where it holds, and one where it fails. */
export type Cases = Readonly<Record<string, { readonly fails: Scenario; readonly holds: Scenario }>>

export const allChecks = [...machineChecks, ...installationChecks]

/** Runs one check unchanged, with everything that it needs. */
export async function examine(id: string, deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const check = allChecks.find(candidate => candidate.id === id)
  if (!check) throw new Error(`there is no check ${id}`)
  expect(await findMissingNeed(check, deps)).toBeUndefined()
  const outcomes = await check.run(deps)
  return 'verdict' in outcomes ? [outcomes] : outcomes
}

export function expectFault(outcomes: readonly CheckOutcome[], says: string | RegExp): void {
  const faults = outcomes.filter(({ verdict }) => verdict === 'failure' || verdict === 'warning')
  const outcome = faults.find(({ message }) => (typeof says === 'string' ? message.includes(says) : says.test(message)))
  expect(outcome ?? outcomes).toMatchObject({ fix: expect.stringMatching(/\S/) })
}

export function expectPass(outcomes: readonly CheckOutcome[], says: string | RegExp): void {
  expect(outcomes.map(({ verdict }) => verdict)).toEqual(outcomes.map(() => 'ok'))
  expect(outcomes.map(({ message }) => message).join('\n')).toMatch(says)
}
