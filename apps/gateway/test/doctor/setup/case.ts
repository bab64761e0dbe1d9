// Runs one check of the doctor, and compares its findings with the expected ones.
import type { CheckOutcome, DoctorDeps } from '@postern/operator'
import { findMissingNeed, installationChecks, machineChecks } from '@postern/operator/doctor'
import { expect } from 'vitest'

/** One installation for a check: the function that runs the check, and a text of the expected finding. */
interface Scenario {
  runCheck(): Promise<readonly CheckOutcome[]>
  readonly expectedDetail: string | RegExp
}

/** For each check, one installation that fails the check and one that passes it. */
export type Cases = Readonly<Record<string, { readonly failingCase: Scenario; readonly passingCase: Scenario }>>

export const allChecks = [...machineChecks, ...installationChecks]

/** Runs one check unchanged, with everything that it needs. */
export async function examine(id: string, deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const check = allChecks.find(candidate => candidate.id === id)
  if (!check) throw new Error(`there is no check ${id}`)
  expect(await findMissingNeed(check, deps)).toBeUndefined()
  const outcomes = await check.run(deps)
  return 'verdict' in outcomes ? [outcomes] : outcomes
}

export function expectFault(outcomes: readonly CheckOutcome[], expectedDetail: string | RegExp): void {
  const faults = outcomes.filter(({ verdict }) => verdict === 'failure' || verdict === 'warning')
  const outcome = faults.find(({ message }) =>
    typeof expectedDetail === 'string' ? message.includes(expectedDetail) : expectedDetail.test(message),
  )
  expect(outcome ?? outcomes).toMatchObject({ fix: expect.stringMatching(/\S/) })
}

export function expectPass(outcomes: readonly CheckOutcome[], expectedDetail: string | RegExp): void {
  expect(outcomes.map(({ verdict }) => verdict)).toEqual(outcomes.map(() => 'ok'))
  expect(outcomes.map(({ message }) => message).join('\n')).toMatch(expectedDetail)
}
