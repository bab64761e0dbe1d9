// Lists everybody about whom the store has data, so that a restored gateway can forget people again.
import type { PersonAddress } from '@postern/pipeline'
import type { StoreContext } from '../transaction/store-context.ts'
import { readPersonKey } from './person-table.ts'

interface PersonRecord extends PersonAddress {
  /** The agent that knows the person. Absent if the data do not belong to one agent. */
  readonly agent?: string | undefined
}

interface KnownPeople {
  readonly persons: readonly PersonRecord[]
  /** The owners of chats, tasks, files and records. */
  readonly owners: readonly string[]
}

export interface KnownPeopleReader {
  /** Reads the senders of a slice of messages after this number. `last` is the end of the slice. Returns undefined if there are no more messages. */
  readSenders(
    after: number,
  ): Promise<{ readonly persons: readonly PersonRecord[]; readonly lastNumber: number } | undefined>
  /** Reads the people whom the store knows from other data than messages. */
  readOtherPeople(): Promise<KnownPeople>
}

interface PersonRow {
  readonly agent: string | null
  readonly key: string
  readonly subject: string | null
}

/** The range of message numbers that one query covers, so that other work can run in between. */
const sliceSize = 2_000

/** Creates the reader. Its statements read whole tables and are prepared at the first use, which is the start after a restore. */
export function createKnownPeopleReader(context: StoreContext): KnownPeopleReader {
  let queries: ReturnType<typeof prepareQueries> | undefined
  const getQueries = () => {
    queries ??= prepareQueries(context)
    return queries
  }
  return {
    async readSenders(after) {
      const last = await context.db.read(function* () {
        return (yield* getQueries().findNewest.get())?.seq ?? 0
      })
      if (after >= last) return undefined
      const rows = await context.db.read(() => getQueries().listSenders.all(after, after + sliceSize))
      return { persons: rows.map(readPerson), lastNumber: after + sliceSize }
    },
    async readOtherPeople() {
      const otherPersonRows = await context.db.read(() => getQueries().listOtherPersons.all())
      const claims = await context.db.read(() => getQueries().listClaims.all())
      const owners = await context.db.read(() => getQueries().listOwners.all())
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
    listSenders: db.prepare<PersonRow>(
      `SELECT DISTINCT agent, channel || ' ' || lower(json_extract(envelope, '$.sender.address')) AS key, principal AS subject
       FROM messages WHERE kind = 'message' AND seq > ?1 AND seq <= ?2`,
    ),
    listOtherPersons: db.prepare<PersonRow>(
      `SELECT agent, address AS key, subject FROM person_addresses
       UNION SELECT agent, channel || ' @' || lower(peer) AS key, peer AS subject FROM relations
       UNION SELECT NULL AS agent, person AS key, NULL AS subject FROM records WHERE person IS NOT NULL`,
    ),
    listClaims: db.prepare<{ claim: string }>(
      'SELECT DISTINCT claimed_sender AS claim FROM refusals WHERE claimed_sender IS NOT NULL',
    ),
    listOwners: db.prepare<{ owner: string }>(
      `SELECT owner FROM tasks UNION SELECT owner FROM objects UNION SELECT owner FROM transcript_aliases
       UNION SELECT owner FROM records UNION SELECT scope AS owner FROM threads`,
    ),
  }
}

function readPerson({ agent, key, subject }: PersonRow): PersonRecord {
  return { ...readPersonKey(key, subject), ...(agent !== null && { agent }) }
}

/** Reads the addresses in the claim of a refused sender, on every channel. */
function readClaim(claim: string, channels: readonly string[]): readonly PersonRecord[] {
  const names = claim.slice(0, 1_000).match(/[^\s<>"@]+@[^\s<>"@]+/g) ?? []
  return names.flatMap(name => channels.map(via => ({ via, address: `@${name.toLowerCase()}` })))
}
