// Ends the links of a person.
import type { RemoveMessage } from '../forgetting/remove-message.ts'
import type { Operation } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { RemoveNotice } from './notice-removal.ts'

/**
 * Deletes every link of an address with the notices that announced the link. Unsent copies of answers are deleted, too, if they go to the address or
 * answer its messages.
 * @returns the number of links
 */
export type DeleteLinks = (
  batch: Batch,
  address: { readonly agent: string; readonly key: string },
  now: number,
) => Operation<number>

export function createLinkRemoval(
  { db }: Pick<StoreContext, 'db'>,
  { removeNotice, removeMessage }: { readonly removeNotice: RemoveNotice; readonly removeMessage: RemoveMessage },
): DeleteLinks {
  const deleteLinks = db.prepare<{ notice: string }>(
    'DELETE FROM person_links WHERE agent = ?1 AND (asker = ?2 OR target = ?2) RETURNING notice',
  )
  const findCopies = db.prepare<{ message: number }>(
    `SELECT d.message FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.ended_at IS NULL AND m.agent = ?1 AND m.flags LIKE '%"linked_copy"%' AND (m.channel || ' @' || d.destination = ?2
       OR m.principal = (SELECT a.subject FROM person_addresses a WHERE a.agent = ?1 AND a.address = ?2))`,
  )
  return function* (batch, { agent, key }, now) {
    const deletedLinks = yield* deleteLinks.all(agent, key)
    for (const { message } of yield* findCopies.all(agent, key)) yield* removeMessage(batch, message, now)
    for (const { notice } of deletedLinks) yield* removeNotice(batch, notice, now)
    return deletedLinks.length
  }
}
