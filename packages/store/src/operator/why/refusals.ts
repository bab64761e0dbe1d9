import type { Refusal, WhyStore, WhyWords } from '@postern/core'
import type { Database } from '../../engine/database.ts'
import { formatJson, prepareQuery } from '../../engine/database.ts'
import type { RefusalRow, Refusals } from '../refusals.ts'
import { toRefusal } from '../refusals.ts'

/** The table is bounded, so it needs no index. */
const where = {
  id: 'peer_id IN (SELECT value FROM json_each(?))',
  sender: 'lower(claimed_sender) = ?',
  agent: 'agent = ?',
} as const

/** What was refused of an id or an address. */
export function createWhyRefusals(db: Database, { flush }: Pick<Refusals, 'flush'>): Pick<WhyStore, 'listWhyRefusals'> {
  const prepare = (condition: string) => {
    const list = prepareQuery<RefusalRow>(db, `SELECT * FROM refusals WHERE ${condition} ORDER BY id DESC LIMIT 10`)
    return (value: string): readonly Refusal[] => list.all(value).map(toRefusal)
  }
  const [byId, bySender, byAgent] = [prepare(where.id), prepare(where.sender), prepare(where.agent)]
  const find = ({ ids, sender, agent }: WhyWords): readonly Refusal[] => {
    const named = ids.length > 0 ? byId(formatJson(ids)) : []
    if (named.length > 0) return named
    if (agent !== undefined) return byAgent(agent)
    return sender === undefined ? [] : bySender(sender.toLowerCase())
  }
  return {
    async listWhyRefusals(words) {
      await flush()
      return find(words)
    },
  }
}
