import { Rejection } from '@postern/core'
import { createSingleFlight } from '@postern/limits'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { DoctorDeps } from '../../doctor/deps.ts'
import type { CheckGroup, DoctorReport } from '../../doctor/report.ts'
import { checkGroups, doctorReportSchema } from '../../doctor/report.ts'
import type { UnknownProxies } from '../../http/clients.ts'

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
    answer: doctorReportSchema,
  }),
  listProxies: defineOperation({
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

/**
 * The findings of `postern doctor`, and which private peers pass forwarded requests on without being trusted. Who asks while a run is under way gets
 * its report: a run sends requests and one mail to ourselves.
 */
export function createDoctorRoutes(
  openDeps: () => DoctorDeps,
  proxies: Pick<UnknownProxies, 'list'>,
): readonly OperatorRoute[] {
  const runOnce = createSingleFlight<DoctorReport>()
  return [
    handleOperation(doctorOperations.run, async ({ query }) => {
      const groups = readCheckGroups(query.only)
      return runOnce(groups.join(), async () => {
        // The checks are loaded when somebody asks for the first time.
        const { runChecks } = await import('../../doctor/run-checks.ts')
        return runChecks(openDeps(), groups)
      })
    }),
    handleOperation(doctorOperations.listProxies, async () => ({ unknown: proxies.list() })),
  ]
}
