// Defines a row: one check of an address, with the section that requires the check.
import { z } from 'zod'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok } from '../../checks/verdict.ts'
import type { PeerView } from '../view/peer.ts'
import type { FetchedFile } from '../view/peer-fetch.ts'

/** One check of the documents at an address. */
export interface AddressCheck<View = PeerView> {
  readonly id: string
  /** The section of the Mentionable system or of a standard that requires it. */
  readonly section: string
  /** Judges a view; undefined if the check does not apply. */
  judge(view: View): Verdict | undefined
}

export const resolveFindingSchema = z.object({
  id: z.string(),
  section: z.string().describe('Section of the Mentionable system or of a standard that requires it.'),
  severity: z.enum(['ok', 'warning', 'error']),
  message: z.string(),
  fix: z.string().optional(),
})

export type ResolveFinding = Readonly<z.infer<typeof resolveFindingSchema>>

export function judgeAll<View>(rows: readonly AddressCheck<View>[], view: View): readonly ResolveFinding[] {
  return rows.flatMap(({ id, section, judge }) => {
    const verdict = judge(view)
    return verdict ? [{ id, section, ...verdict }] : []
  })
}

/** Judges whether a host serves a document. Other rows judge the content. */
export function judgeAvailability(
  { url, status, error, document }: FetchedFile,
  documentName: string,
  fix: string,
): Verdict {
  if (error !== undefined) return failure(`cannot fetch ${documentName}: ${error}`, fix)
  if (status !== 200) return failure(`${documentName} answers ${status} at ${url}`, fix)
  return document ? ok(`${documentName} is at ${url}`) : failure(`${documentName} at ${url} is not a JSON object`, fix)
}
