// Runs the checks of the installation, and lists untrusted proxies, in the operator's API.
import { createSingleFlight } from '@postern/limits'
import { Rejection } from '@postern/message'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { DoctorDeps } from '../../doctor/deps.ts'
import type { CheckGroup, DoctorReport } from '../../doctor/report.ts'
import { checkGroups, doctorReportSchema } from '../../doctor/report.ts'

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
      origin: z.string().max(500).optional().describe('The origin in the caller’s configuration.'),
      agents: z
        .string()
        .max(20_000)
        .optional()
        .describe('The agents in the caller’s configuration, with commas between them.'),
      agents_digest: z
        .string()
        .max(64)
        .optional()
        .describe(
          'SHA-256 of their sorted names with commas between them, in hexadecimal, in place of very many names.',
        ),
    }),
    answer: doctorReportSchema,
  }),
  listProxies: defineOperation({
    id: 'listProxies',
    method: 'GET',
    path: '/proxies',
    summary: 'Lists private peers that forward requests and are not trusted proxies.',
    task: 'list proxies',
    answer: z.object({ unknown: z.array(z.string()).readonly().describe('IP addresses, oldest first.') }),
  }),
} as const

/** Reads names of groups that are separated by commas, such as `mail,tls`. Returns all groups if there is no text. @throws Rejection `malformed` */
export function readCheckGroups(text: string | undefined): readonly CheckGroup[] {
  if (text === undefined || text === '') return checkGroups
  const names = text.split(',').map(name => name.trim())
  const unknownName = names.find(name => !checkGroups.some(group => group === name))
  if (unknownName !== undefined)
    throw new Rejection(
      'malformed',
      `Cannot check "${unknownName.slice(0, 40)}": the groups are ${checkGroups.join(', ')}`,
    )
  return checkGroups.filter(group => names.includes(group))
}

/** Creates the routes of the checks. Concurrent callers share one run, because a run sends requests and one mail to the gateway itself. */
export function createDoctorRoutes(
  openDeps: () => DoctorDeps,
  proxies: { list(): readonly string[] },
): readonly OperatorRoute[] {
  const runOnce = createSingleFlight<DoctorReport>()
  return [
    handleOperation(doctorOperations.run, async ({ query }) => {
      const groups = readCheckGroups(query.only)
      const { origin, agents, agents_digest: agentsDigest } = query
      const expected = { origin, agents: agents?.split(','), agentsDigest }
      return runOnce(JSON.stringify([groups, expected]), async () => {
        // The checks load at the first call.
        const { runChecks } = await import('../../doctor/run-checks.ts')
        return runChecks({ ...openDeps(), expected }, groups)
      })
    }),
    handleOperation(doctorOperations.listProxies, async () => ({ unknown: proxies.list() })),
  ]
}
