// Assembles the queries that explain a message.
import type { WhyQuery, WhyStore } from '@postern/pipeline'
import type { InProcessTurns } from '../../queue/turns/in-process-turns.ts'
import { formatJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import type { RefusalRow, Refusals } from '../refusals.ts'
import { toRefusal } from '../refusals.ts'
import { createRunStarter } from './begin-run.ts'
import { createRunRecorder } from './gateway-runs.ts'
import { createWhySubjects } from './subjects.ts'
import { createWhyRecords } from './why-records.ts'

/** Creates the store of everything that explains the treatment of a message. */
export function createWhyStore(
  context: StoreContext,
  refusals: Refusals,
  inProcessTurns: Pick<InProcessTurns, 'delayContinuations'>,
): WhyStore {
  return {
    ...createWhySubjects(context.db),
    ...createWhyRecords(context),
    ...createWhyRefusals(context.db, refusals),
    ...createRunStarter(context, inProcessTurns),
    ...createRunRecorder(context),
  }
}

/** The maximum number of candidate rows that a query reads. */
const maxCandidates = 200
const maxRefusals = 10

const select = 'SELECT * FROM refusals WHERE'
const newestOrder = `ORDER BY id DESC LIMIT ${maxCandidates}`

/** Creates the search for refusals by id, agent or sender. The table has a bounded size, so it needs no index. */
function createWhyRefusals(db: Sql, { flush }: Pick<Refusals, 'flush'>): Pick<WhyStore, 'listWhyRefusals'> {
  const inList = 'IN (SELECT value FROM json_each(?1))'
  const listById = db.prepare<RefusalRow>(`${select} peer_id ${inList} OR claimed_sender ${inList} ${newestOrder}`)
  const listByAgent = db.prepare<RefusalRow>(`${select} agent = ? ${newestOrder}`)
  const listBySender = db.prepare<RefusalRow>(
    `${select} lower(claimed_sender) = ?1 OR substr(lower(claimed_sender), 1, length(?2)) = ?2 ${newestOrder}`,
  )
  const findByNumber = db.prepare<RefusalRow>(`${select} id = ?`)
  function* find({ ids, sender, agent, refusal }: WhyQuery): Operation<readonly RefusalRow[]> {
    if (refusal !== undefined) return yield* findByNumber.all(refusal)
    const matchingIds = ids.length > 0 ? yield* listById.all(formatJson(ids)) : []
    if (matchingIds.length > 0) return matchingIds
    if (agent !== undefined) return yield* listByAgent.all(agent)
    if (sender === undefined) return []
    const host = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
    const refusals = yield* listBySender.all(sender.toLowerCase(), `https://${host}/`)
    return refusals.filter(({ claimed_sender }) => isFromSender(claimed_sender ?? '', sender))
  }
  return {
    async listWhyRefusals(search) {
      await flush()
      return db.read(function* () {
        return (yield* find(search)).slice(0, maxRefusals).map(toRefusal)
      })
    },
  }
}

/**
 * Returns true if the claimed sender may be `sender`. A claim may also be the URL of a key or an actor, such as
 * `https://host/users/name#main-key`, if the document of the account could not be fetched.
 */
function isFromSender(claimedSender: string, sender: string): boolean {
  if (!claimedSender.startsWith('https://')) return true
  const name = sender.slice(1, sender.lastIndexOf('@')).toLowerCase()
  const segments = claimedSender.toLowerCase().split(/[/#?]/)
  return segments.includes(name) || segments.includes(`@${name}`)
}
