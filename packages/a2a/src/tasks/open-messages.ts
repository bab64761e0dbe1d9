import type { TaskRecord } from '@postern/core'

/** Only the newest messages of a long task can be open. */
const newest = 16

/** The numbers of messages whose turns may be open. The store numbers messages by their entries. */
export function listOpenMessages({ entries }: TaskRecord): readonly number[] {
  return entries
    .filter(({ role }) => role === 'user')
    .slice(-newest)
    .map(({ seq }) => seq)
}
