// Defines the report of `postern doctor`: findings by group, with their fixes.
import { z } from 'zod'

/** The groups in the order of the report. */
export const checkGroups = [
  'machine',
  'configuration',
  'gateway',
  'network',
  'tls',
  'discovery',
  'channels',
  'mail',
  'store',
  'work',
  'agents',
] as const

export type CheckGroup = (typeof checkGroups)[number]

const verdicts = ['ok', 'warning', 'failure', 'skipped'] as const

const findingSchema = z
  .object({
    id: z.string().describe('Stable: `mail.spf`. docs/reference/doctor.md lists all.'),
    group: z.enum(checkGroups),
    subject: z.string().describe('A host, an address, a file, a setting; empty where there is only one.'),
    verdict: z.enum(verdicts).describe('`skipped`: the check could not run; the message says why.'),
    message: z.string().describe('One sentence.'),
    fix: z.string().optional().describe('The fix of a warning or failure.'),
    ms: z.number().describe('From the start of the run to the answer of the check.'),
  })
  .meta({ id: 'DoctorFinding' })

export const doctorReportSchema = z
  .object({
    checked_at: z.string().describe('ISO 8601 UTC.'),
    ms: z.number(),
    // `stopped`: no gateway runs, but its data could be opened. `unopened`: the data could not be opened either.
    gateway: z.enum(['running', 'stopped', 'unopened']),
    counts: z.object(Object.fromEntries(verdicts.map(verdict => [verdict, z.number()])) as Counts),
    findings: z.array(findingSchema).readonly(),
  })
  .meta({ id: 'DoctorReport' })

type Counts = Record<(typeof verdicts)[number], z.ZodNumber>

/** One line of a report. */
export type DoctorFinding = Readonly<z.infer<typeof findingSchema>>

export type DoctorReport = Readonly<z.infer<typeof doctorReportSchema>>

/** The result of a check for one subject. */
export type CheckOutcome = Pick<DoctorFinding, 'subject' | 'verdict' | 'message' | 'fix'>
