import type { EntryWait, TranscriptEntry } from '../entry/entry.ts'

export interface OpenWait {
  readonly wait: EntryWait
  readonly entry: TranscriptEntry
}

/**
 * What a thread still waits for, oldest first: one list for every surface. A wait ends by a later entry of its id, an `input` also by the
 * next message of the user, and any by its time.
 */
export function listOpenWaits(entries: readonly TranscriptEntry[], nowMs: number): readonly OpenWait[] {
  const open = new Map<string, OpenWait>()
  for (const entry of entries) {
    const { wait } = entry
    if (entry.kind === 'text' && entry.role === 'user') endInputs(open)
    if (wait?.state === 'open') open.set(wait.id, { wait, entry })
    else if (wait) open.delete(wait.id)
  }
  return [...open.values()].filter(({ wait }) => wait.expires_at === undefined || Date.parse(wait.expires_at) > nowMs)
}

/** The question that a message of the user's answers when it is said now; the latest one. */
export function findAnsweredQuestion(entries: readonly TranscriptEntry[], nowMs: number): OpenWait | undefined {
  return listOpenWaits(entries, nowMs).findLast(({ wait }) => wait.reason === 'input')
}

function endInputs(open: Map<string, OpenWait>): void {
  for (const [id, { wait }] of open) if (wait.reason === 'input') open.delete(id)
}
