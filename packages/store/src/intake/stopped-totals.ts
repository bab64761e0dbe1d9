// Counts the messages that a limit stopped.
import { stopFlags } from '@postern/message'
import type { Batch } from '../transaction/batch.ts'
import { addToTotal } from '../transaction/totals.ts'

/** Counts one message under each limit that stopped it, at the endpoint or in the store. */
export function countStoppedMessage(batch: Batch, flags: readonly (string | undefined)[]): void {
  for (const flag of stopFlags) {
    if (flags.includes(flag)) addToTotal(batch, `stopped.${flag}`)
  }
}
