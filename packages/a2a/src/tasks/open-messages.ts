import type { TaskRecord } from '@postern/core'

/** Of a task that goes on and on only the newest messages can be open. */
const newest = 16

/** The numbers of the messages whose turns may still be open: the store numbers messages by their entries. */
export function listOpenMessages({ entries }: TaskRecord): readonly number[] {
  return entries
    .filter(({ role }) => role === 'user')
    .slice(-newest)
    .map(({ seq }) => seq)
}
