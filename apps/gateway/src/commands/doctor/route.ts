import { Rejection } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { CheckGroup } from '../../doctor/check.ts'
import { checkGroups } from '../../doctor/check.ts'
import type { DoctorDeps } from '../../doctor/deps.ts'
import type { DoctorReport } from '../../doctor/run-checks.ts'
import type { UnknownProxies } from '../../http/clients.ts'

const verdicts = ['ok', 'warning', 'failure', 'skipped'] as const

const findingSchema = z
  .object({
    id: z.string().describe('Stable: `mail.spf`. docs/reference/doctor.md lists all.'),
    group: z.enum(checkGroups),
    subject: z.string().describe('A host, an address, a file, a setting; empty where there is only one.'),
    verdict: z.enum(verdicts).describe('`skipped`: the check could not run; the message says why.'),
    message: z.string().describe('One sentence.'),
    fix: z.string().optional().describe('How to fix it: of warnings and failures.'),
    ms: z.number().describe('From the start of the run to the answer of the check.'),
  })
  .meta({ id: 'DoctorFinding' })

const reportSchema = z
  .object({
    checked_at: z.string().describe('ISO 8601 UTC.'),
    ms: z.number(),
    gateway: z.enum(['running', 'stopped', 'unopened']),
    counts: z.object(Object.fromEntries(verdicts.map(verdict => [verdict, z.number()])) as Counts),
    findings: z.array(findingSchema),
  })
  .meta({ id: 'DoctorReport' })

type Counts = Record<(typeof verdicts)[number], z.ZodNumber>

export const doctorOperations = {
  run: defineOperation({
    id: 'runDoctor',
    method: 'GET',
    path: '/doctor',
    summary: 'Checks the installation, and lists what it finds with its fixes.',
    task: 'check the installation',
    query: z.object({
      only: z
        .string()
        .max(200)
        .optional()
        .describe(`Groups, with commas between them: ${checkGroups.join(', ')}.`),
    }),
    answer: reportSchema,
  }),
}

const proxyOperations = {
  list: defineOperation({
    id: 'listProxies',
    method: 'GET',
    path: '/proxies',
    summary: 'Lists private peers that pass requests on and are no trusted proxies.',
    task: 'list proxies',
    answer: z.object({ unknown: z.array(z.string()).readonly().describe('IP addresses, oldest first.') }),
  }),
} as const

/** `mail,tls`: names of groups with commas between them; all where nothing is said. @throws Rejection `malformed` */
export function readCheckGroups(text: string | undefined): readonly CheckGroup[] {
  if (text === undefined || text === '') return checkGroups
  const names = text.split(',').map(name => name.trim())
  const unknown = names.find(name => !checkGroups.some(group => group === name))
  if (unknown !== undefined)
    throw new Rejection('malformed', `Cannot check "${unknown.slice(0, 40)}": the groups are ${checkGroups.join(', ')}`)
  return checkGroups.filter(group => names.includes(group))
}

/** The findings of `postern doctor`. Who asks while a run is under way gets its report: a run sends requests and one mail to ourselves. */
export function createDoctorRoutes(openDeps: () => DoctorDeps): readonly OperatorRoute[] {
  const running = new Map<string, Promise<DoctorReport>>()

  /** The checks are loaded when somebody asks for the first time. */
  async function run(groups: readonly CheckGroup[]): Promise<DoctorReport> {
    const { runChecks } = await import('../../doctor/run-checks.ts')
    return runChecks(openDeps(), groups)
  }

  function runOnce(groups: readonly CheckGroup[]): Promise<DoctorReport> {
    const key = groups.join()
    const report = running.get(key) ?? run(groups).finally(() => running.delete(key))
    running.set(key, report)
    return report
  }

  return [
    handleOperation(doctorOperations.run, async ({ query }) => {
      const { findings, ...report } = await runOnce(readCheckGroups(query.only))
      return { ...report, findings: [...findings] }
    }),
  ]
}

/** Which private peers pass forwarded requests on without being trusted. */
export function createProxyRoutes(proxies: Pick<UnknownProxies, 'list'>): readonly OperatorRoute[] {
  return [handleOperation(proxyOperations.list, async () => ({ unknown: proxies.list() }))]
}
