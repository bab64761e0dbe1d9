// Runs the checks of an installation, each within its time limit, and collects their findings.
import { isoTime, KeyNotMade } from '@postern/message'
import type { Check, CheckOutcomes, MachineCheck } from './check.ts'
import { findMissingNeed, groupOf, skip } from './check.ts'
import { installationChecks, machineChecks } from './checks.ts'
import type { DoctorDeps, MachineDeps } from './deps.ts'
import { describeError } from './describe-error.ts'
import type { CheckGroup, CheckOutcome, DoctorReport } from './report.ts'
import { checkGroups } from './report.ts'

const defaultTimeoutMs = 10_000
const crashFix = 'This is a fault of the check: see the log of the gateway, and report it.'

/** Runs all checks of these groups at the same time, within the longest timeout of a check. */
export async function runChecks(deps: DoctorDeps, groups: readonly CheckGroup[] = checkGroups): Promise<DoctorReport> {
  const checks = [...machineChecks, ...installationChecks].filter(check => groups.includes(groupOf(check)))
  const state = deps.gateway ? (deps.isRunning ? 'running' : 'stopped') : 'unopened'
  return collectFindings(checks, deps, { state, examine: check => examine(check, deps) })
}

/** Runs the checks without a readable configuration, and skips those that need one. */
export async function runMachineChecks(
  deps: MachineDeps,
  groups: readonly CheckGroup[] = checkGroups,
): Promise<DoctorReport> {
  const machineCheckById = new Map<string, MachineCheck>(machineChecks.map(check => [check.id, check]))
  const checks = [...machineChecks, ...installationChecks].filter(check => groups.includes(groupOf(check)))
  const skipAll = async () => [skip('', 'the configuration has faults; see configuration.valid')]
  return collectFindings(checks, deps, {
    state: 'unopened',
    async examine({ id }) {
      const check = machineCheckById.get(id)
      return check ? runInTime(check, () => check.run(deps)) : skipAll()
    },
  })
}

type AnyCheck = Check | MachineCheck

interface Examination {
  readonly state: DoctorReport['gateway']
  examine(check: AnyCheck): Promise<readonly CheckOutcome[]>
}

async function collectFindings(
  checks: readonly AnyCheck[],
  { now }: Pick<MachineDeps, 'now'>,
  { state, examine }: Examination,
): Promise<DoctorReport> {
  const startedAt = performance.now()
  const checkedAt = isoTime(now())
  const results = await Promise.all(
    checks.map(async check => {
      const outcomes = await examine(check)
      const ms = Math.round(performance.now() - startedAt)
      return outcomes.map(outcome => ({ id: check.id, group: groupOf(check), ...outcome, ms }))
    }),
  )
  const findings = results.flat().toSorted((a, b) => checkGroups.indexOf(a.group) - checkGroups.indexOf(b.group))
  const count = (verdict: CheckOutcome['verdict']) => findings.filter(finding => finding.verdict === verdict).length
  const counts = { ok: count('ok'), warning: count('warning'), failure: count('failure'), skipped: count('skipped') }
  return { checked_at: checkedAt, ms: Math.round(performance.now() - startedAt), gateway: state, counts, findings }
}

async function examine(check: AnyCheck, deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  return runInTime(check, async () => {
    const skipReason = await findMissingNeed(check, deps)
    return skipReason === undefined ? check.run(deps) : skip('', skipReason)
  })
}

async function runInTime(
  { fix, timeoutMs = defaultTimeoutMs }: Pick<AnyCheck, 'fix' | 'timeoutMs'>,
  run: () => Promise<CheckOutcomes> | CheckOutcomes,
): Promise<readonly CheckOutcome[]> {
  const timeout = Promise.withResolvers<CheckOutcomes>()
  const message = `the check got no answer within ${timeoutMs / 1000} s`
  const timer = setTimeout(() => timeout.resolve({ subject: '', verdict: 'failure', message, fix }), timeoutMs)
  try {
    const outcomes = await Promise.race([Promise.resolve().then(run), timeout.promise])
    return 'verdict' in outcomes ? [outcomes] : outcomes
  } catch (error) {
    if (error instanceof KeyNotMade)
      return [skip('', 'no gateway has run on this data, and its first start makes the keys')]
    return [{ subject: '', verdict: 'failure', message: describeError(error), fix: crashFix }]
  } finally {
    clearTimeout(timer)
  }
}
