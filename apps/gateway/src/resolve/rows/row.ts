import { z } from 'zod'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok } from '../../checks/finding.ts'
import type { Fetched } from '../view/fetched.ts'
import type { PeerView } from '../view/peer.ts'

/** One thing that can be right or wrong about how an address is found. */
export interface Row<View = PeerView> {
  readonly id: string
  /** Of the Mentionable system, or of the standard that says so. */
  readonly section: string
  /** Undefined where it does not apply. Pure. */
  judge(view: View): Verdict | undefined
}

export const resolveFindingSchema = z.object({
  id: z.string(),
  section: z.string().describe('Of the Mentionable system, or of the standard that says so.'),
  severity: z.enum(['ok', 'warning', 'error']),
  message: z.string(),
  fix: z.string().optional(),
})

export type ResolveFinding = Readonly<z.infer<typeof resolveFindingSchema>>

export function judgeAll<View>(rows: readonly Row<View>[], view: View): readonly ResolveFinding[] {
  return rows.flatMap(({ id, section, judge }) => {
    const verdict = judge(view)
    return verdict ? [{ id, section, ...verdict }] : []
  })
}

/** Whether a document came at all; what is in it is for other rows. */
export function judgeAnswer({ url, status, error, document }: Fetched, what: string, fix: string): Verdict {
  if (error !== undefined) return failure(`${what} cannot be had: ${error}`, fix)
  if (status !== 200) return failure(`${what} answers ${status} at ${url}`, fix)
  return document ? ok(`${what} is at ${url}`) : failure(`${what} at ${url} is no JSON object`, fix)
}
