import type { WhyStore, WhyWords } from '@postern/core'
import type { Sql } from '../../engine/database.ts'
import { formatJson, readAfterWait } from '../../engine/database.ts'
import type { StoreContext } from '../../engine/store-context.ts'
import type { RefusalRow, Refusals } from '../refusals.ts'
import { toRefusal } from '../refusals.ts'
import { createWhyRecords } from './records.ts'
import { createRunNotes } from './runs.ts'
import { createWhySubjects } from './subjects.ts'

/** What there is to say why a message was answered as it was. */
export function createWhyStore(context: StoreContext, refusals: Refusals): WhyStore {
  return {
    ...createWhySubjects(context.db),
    ...createWhyRecords(context),
    ...createWhyRefusals(context.db, refusals),
    ...createRunNotes(context),
  }
}

/** Rows that may be of a sender, of which those are chosen that are. */
const mostRead = 200
const mostFound = 10

const select = 'SELECT * FROM refusals WHERE'
const newest = `ORDER BY id DESC LIMIT ${mostRead}`

/** What was refused of an id or an address. The table is bounded, so it needs no index. */
function createWhyRefusals(db: Sql, { flush }: Pick<Refusals, 'flush'>): Pick<WhyStore, 'listWhyRefusals'> {
  const inList = 'IN (SELECT value FROM json_each(?1))'
  const ofId = db.prepare<RefusalRow>(`${select} peer_id ${inList} OR claimed_sender ${inList} ${newest}`)
  const ofAgent = db.prepare<RefusalRow>(`${select} agent = ? ${newest}`)
  const ofSender = db.prepare<RefusalRow>(
    `${select} lower(claimed_sender) = ?1 OR substr(lower(claimed_sender), 1, length(?2)) = ?2 ${newest}`,
  )
  const atPlace = db.prepare<RefusalRow>(`${select} id = ?`)
  const find = ({ ids, sender, agent, refusal }: WhyWords): readonly RefusalRow[] => {
    if (refusal !== undefined) return atPlace.all(refusal)
    const named = ids.length > 0 ? ofId.all(formatJson(ids)) : []
    if (named.length > 0) return named
    if (agent !== undefined) return ofAgent.all(agent)
    if (sender === undefined) return []
    const host = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
    const found = ofSender.all(sender.toLowerCase(), `https://${host}/`)
    return found.filter(({ claimed_sender }) => isOf(claimed_sender ?? '', sender))
  }
  return {
    async listWhyRefusals(words) {
      await flush()
      return readAfterWait(db, () => find(words).slice(0, mostFound).map(toRefusal))
    },
  }
}

/** Before its document is read, somebody of the fediverse is known by the address of a key or an actor: `https://host/users/name#main-key`. */
function isOf(claimed: string, sender: string): boolean {
  if (!claimed.startsWith('https://')) return true
  const name = sender.slice(1, sender.lastIndexOf('@')).toLowerCase()
  const segments = claimed.toLowerCase().split(/[/#?]/)
  return segments.includes(name) || segments.includes(`@${name}`)
}
