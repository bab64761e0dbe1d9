import type { Batch } from './batch.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'
import type { RemoveNotice } from './link-codes.ts'

/** Takes every link of an address out, with what told the other one of it. @returns how many there were */
export type EndLinks = (batch: Batch, whose: { readonly agent: string; readonly key: string }, now: number) => number

export function createLinkEnding(db: Database, removeNotice: RemoveNotice): EndLinks {
  const end = prepareQuery<{ notice: string }>(
    db,
    'DELETE FROM person_links WHERE agent = ?1 AND (asker = ?2 OR target = ?2) RETURNING notice',
  )
  return (batch, { agent, key }, now) => {
    const ended = end.all(agent, key)
    for (const { notice } of ended) removeNotice(batch, notice, now)
    return ended.length
  }
}
