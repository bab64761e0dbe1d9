import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { checkGroups } from '../../doctor/check.ts'

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

export const proxyOperations = {
  list: defineOperation({
    id: 'listProxies',
    method: 'GET',
    path: '/proxies',
    summary: 'Lists private peers that pass requests on and are no trusted proxies.',
    task: 'list proxies',
    answer: z.object({ unknown: z.array(z.string()).readonly().describe('IP addresses, oldest first.') }),
  }),
} as const
