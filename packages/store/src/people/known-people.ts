// Lists everybody about whom the store has data, so that a restored gateway can forget people again.
import type { PersonAddress } from '@postern/pipeline'
import { readAfterWait } from '../sql/engine-defaults.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { readPersonKey } from './person-table.ts'

interface PersonRecord extends PersonAddress {
  /** The agent that knows the person; absent if it is not one agent. */
  readonly agent?: string | undefined
}

interface KnownPeople {
  readonly persons: readonly PersonRecord[]
  /** Keys of the owners of chats, tasks and files. */
  readonly owners: readonly string[]
}

export interface KnownPeopleReader {
  /** Reads the senders of some messages after this number, with the last number of these messages. Returns undefined if there are no more. */
  readSenders(after: number): Promise<{ readonly persons: readonly PersonRecord[]; readonly last: number } | undefined>
  /** Reads the people who are known without a message. */
  readOtherPeople(): Promise<KnownPeople>
}

interface PersonRow {
  readonly agent: string | null
  readonly key: string
  readonly subject: string | null
}

/** The range of message numbers that one reading covers, so that other work runs in between. */
const sliceSize = 2_000

/** Creates the reader. Its statements read whole tables, so they are prepared only when it is used, at the start after a restore. */
export function createKnownPeopleReader(context: StoreContext): KnownPeopleReader {
  let queries: ReturnType<typeof prepareQueries> | undefined
  const open = () => {
    queries ??= prepareQueries(context)
    return queries
  }
  return {
    async readSenders(after) {
      const last = await readAfterWait(context.db, () => open().findNewest.get()?.seq ?? 0)
      if (after >= last) return undefined
      const rows = await readAfterWait(context.db, () => open().senders.all(after, after + sliceSize))
      return { persons: rows.map(readPerson), last: after + sliceSize }
    },
    async readOtherPeople() {
      const otherPersonRows = await readAfterWait(context.db, () => open().otherPersonRows.all())
      const claims = await readAfterWait(context.db, () => open().claims.all())
      const owners = await readAfterWait(context.db, () => open().owners.all())
      return {
        persons: [
          ...otherPersonRows.map(readPerson),
          ...claims.flatMap(({ claim }) => readClaim(claim, context.channels.names)),
        ],
        owners: owners.map(({ owner }) => owner),
      }
    },
  }
}

function prepareQueries({ db }: StoreContext) {
  return {
    findNewest: db.prepare<{ seq: number | null }>('SELECT max(seq) AS seq FROM messages'),
    senders: db.prepare<PersonRow>(
      `SELECT DISTINCT agent, channel || ' ' || lower(json_extract(envelope, '$.sender.address')) AS key, principal AS subject
       FROM messages WHERE kind = 'message' AND seq > ?1 AND seq <= ?2`,
    ),
    otherPersonRows: db.prepare<PersonRow>(
      `SELECT agent, address AS key, subject FROM person_addresses
       UNION SELECT agent, channel || ' @' || lower(peer) AS key, peer AS subject FROM relations
       UNION SELECT NULL AS agent, person AS key, NULL AS subject FROM records WHERE person IS NOT NULL`,
    ),
    claims: db.prepare<{ claim: string }>(
      'SELECT DISTINCT claimed_sender AS claim FROM refusals WHERE claimed_sender IS NOT NULL',
    ),
    owners: db.prepare<{ owner: string }>(
      `SELECT owner FROM tasks UNION SELECT owner FROM objects UNION SELECT owner FROM transcript_aliases
       UNION SELECT owner FROM records UNION SELECT scope AS owner FROM threads`,
    ),
  }
}

function readPerson({ agent, key, subject }: PersonRow): PersonRecord {
  return { ...readPersonKey(key, subject), ...(agent !== null && { agent }) }
}

/** Returns the mailboxes and accounts in what a refused sender claimed to be. */
function readClaim(claim: string, channels: readonly string[]): readonly PersonRecord[] {
  const names = claim.slice(0, 1_000).match(/[^\s<>"@]+@[^\s<>"@]+/g) ?? []
  return names.flatMap(name => channels.map(via => ({ via, address: `@${name.toLowerCase()}` })))
}
