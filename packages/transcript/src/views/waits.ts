import type { EntryWait, TranscriptEntry } from '../entry/entry.ts'

export interface OpenWait {
  readonly wait: EntryWait
  readonly entry: TranscriptEntry
}

/**
 * What a thread still waits for, oldest first: one list for every view. A later entry of its id ends a wait; the user's next message ends
 * an `input`, and its expiry ends any.
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

/** The question that the user's message would answer now; the latest one. */
export function findAnsweredQuestion(entries: readonly TranscriptEntry[], nowMs: number): OpenWait | undefined {
  return listOpenWaits(entries, nowMs).findLast(({ wait }) => wait.reason === 'input')
}

function endInputs(open: Map<string, OpenWait>): void {
  for (const [id, { wait }] of open) if (wait.reason === 'input') open.delete(id)
}
