import { expect } from 'vitest'
import { findMissingNeed } from '../../../src/doctor/check.ts'
import { installationChecks, machineChecks } from '../../../src/doctor/checks.ts'
import type { DoctorDeps } from '../../../src/doctor/deps.ts'
import type { CheckOutcome } from '../../../src/doctor/report.ts'

/** One installation for a check: what is examined, and a word of what is said about it. */
interface Scenario {
  examine(): Promise<readonly CheckOutcome[]>
  readonly says: string | RegExp
}

/** For each check one installation where it is content, and one where it is not. */
export type Cases = Readonly<Record<string, { readonly fails: Scenario; readonly holds: Scenario }>>

export const allChecks = [...machineChecks, ...installationChecks]

/** Runs one check as it is, with all that it needs. */
export async function examine(id: string, deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const check = allChecks.find(each => each.id === id)
  if (!check) throw new Error(`there is no check ${id}`)
  expect(await findMissingNeed(check, deps)).toBeUndefined()
  const found = await check.run(deps)
  return 'verdict' in found ? [found] : found
}

export function expectFault(outcomes: readonly CheckOutcome[], says: string | RegExp): void {
  const faults = outcomes.filter(({ verdict }) => verdict === 'failure' || verdict === 'warning')
  const found = faults.find(({ message }) => (typeof says === 'string' ? message.includes(says) : says.test(message)))
  expect(found ?? outcomes).toMatchObject({ fix: expect.stringMatching(/\S/) })
}

export function expectContent(outcomes: readonly CheckOutcome[], says: string | RegExp): void {
  expect(outcomes.map(({ verdict }) => verdict)).toEqual(outcomes.map(() => 'ok'))
  expect(outcomes.map(({ message }) => message).join('\n')).toMatch(says)
}
