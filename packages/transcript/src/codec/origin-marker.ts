import { z } from 'zod'
import type { EntryBody } from '../entry/entry.ts'
import { entryKinds } from '../entry/kind.ts'

/** The member of a dialect's open map that contains our marker. */
export const markerName = 'gateway'

/** The entries of a written message. The marker is in an open map of the dialect and is found there again. */
const markerSchema = z.object({
  v: z.literal(1),
  entry_id: z.string(),
  kind: z.enum(entryKinds),
  /** The further entries of the message. */
  more: z.array(z.string()).max(1000).optional(),
})

type OriginMarker = z.infer<typeof markerSchema>

/** The marker of a message made of `run`. */
export function markerOfRun(run: readonly EntryBody[]): OriginMarker {
  const [head, ...rest] = run
  if (!head) throw new TypeError('a message has at least one entry')
  const more = rest.map(({ entry_id }) => entry_id)
  return { v: 1, entry_id: head.entry_id, kind: head.kind, ...(more.length > 0 && { more }) }
}

/** The entries that a marker claims; none when it is not one of ours. */
export function listClaimedIds(marker: unknown): readonly string[] {
  const { data } = markerSchema.safeParse(marker)
  return data ? [data.entry_id, ...(data.more ?? [])] : []
}
