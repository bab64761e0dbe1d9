// Assembles the queries that explain a message.
import type { WhyStore, WhyWords } from '@postern/pipeline'
import { readAfterWait } from '../../sql/engine-defaults.ts'
import { formatJson } from '../../sql/json-columns.ts'
import type { Sql } from '../../sql/sql.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import type { RefusalRow, Refusals } from '../refusals.ts'
import { toRefusal } from '../refusals.ts'
import { createRunBeginning } from './begin-run.ts'
import { createRunNotes } from './runs.ts'
import { createWhySubjects } from './subjects.ts'
import { createWhyRecords } from './why-records.ts'

/** Creates the store of everything that explains how a message was answered. */
export function createWhyStore(context: StoreContext, refusals: Refusals): WhyStore {
  return {
    ...createWhySubjects(context.db),
    ...createWhyRecords(context),
    ...createWhyRefusals(context.db, refusals),
    ...createRunBeginning(context),
    ...createRunNotes(context),
  }
}

/** The most rows that may belong to a sender and are therefore examined. */
const mostRead = 200
const mostFound = 10

const select = 'SELECT * FROM refusals WHERE'
const newest = `ORDER BY id DESC LIMIT ${mostRead}`

/** Lists the refusals of an id or an address. The table is bounded, so it needs no index. */
function createWhyRefusals(db: Sql, { flush }: Pick<Refusals, 'flush'>): Pick<WhyStore, 'listWhyRefusals'> {
  const inList = 'IN (SELECT value FROM json_each(?1))'
  const ofId = db.prepare<RefusalRow>(`${select} peer_id ${inList} OR claimed_sender ${inList} ${newest}`)
  const ofAgent = db.prepare<RefusalRow>(`${select} agent = ? ${newest}`)
  const ofSender = db.prepare<RefusalRow>(
    `${select} lower(claimed_sender) = ?1 OR substr(lower(claimed_sender), 1, length(?2)) = ?2 ${newest}`,
  )
  const byNumber = db.prepare<RefusalRow>(`${select} id = ?`)
  const find = ({ ids, sender, agent, refusal }: WhyWords): readonly RefusalRow[] => {
    if (refusal !== undefined) return byNumber.all(refusal)
    const ofIds = ids.length > 0 ? ofId.all(formatJson(ids)) : []
    if (ofIds.length > 0) return ofIds
    if (agent !== undefined) return ofAgent.all(agent)
    if (sender === undefined) return []
    const host = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
    const refusals = ofSender.all(sender.toLowerCase(), `https://${host}/`)
    return refusals.filter(({ claimed_sender }) => isOf(claimed_sender ?? '', sender))
  }
  return {
    async listWhyRefusals(words) {
      await flush()
      return readAfterWait(db, () => find(words).slice(0, mostFound).map(toRefusal))
    },
  }
}

/**
 * Returns true if the refused claim may be the sender's. An account whose document was not read is known by the address of a key or an actor:
 * `https://host/users/name#main-key`.
 */
function isOf(claimed: string, sender: string): boolean {
  if (!claimed.startsWith('https://')) return true
  const name = sender.slice(1, sender.lastIndexOf('@')).toLowerCase()
  const segments = claimed.toLowerCase().split(/[/#?]/)
  return segments.includes(name) || segments.includes(`@${name}`)
}
