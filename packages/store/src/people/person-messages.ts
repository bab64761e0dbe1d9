// Finds the messages of a person to agents, so that agents that store data themselves can forget the person, too.
import type { PeopleStore, Person, PersonAddress, PersonMessage, PersonMessagesRequest } from '@postern/pipeline'
import { parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { ThreadIds } from '../threads/threads.ts'
import { publicIdOf } from '../threads/threads.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createPersonFilter } from './forget-person.ts'
import type { PersonTable } from './person-table.ts'
import { formatPersonKey } from './person-table.ts'
import { sliceSize } from './remove-threads.ts'

interface PersonMessageRow {
  readonly seq: number
  readonly agent: string
  readonly channel: string
  readonly thread_id: number
  readonly flags: string | null
  readonly envelope: string
}

/** Creates the reader. Its statements read whole tables and are prepared at the first call, when a person is forgotten. */
export function createPersonMessageReader(
  context: StoreContext,
  people: PersonTable,
): Pick<PeopleStore, 'findPersonMessages'> {
  let preparedFind: PeopleStore['findPersonMessages'] | undefined
  return {
    findPersonMessages(request) {
      preparedFind ??= prepareReader(context, people)
      return preparedFind(request)
    },
  }
}

function prepareReader(context: StoreContext, people: PersonTable): PeopleStore['findPersonMessages'] {
  const { db, channels } = context
  const findNewest = db.prepare<{ number: number | null }>('SELECT max(seq) AS number FROM messages')
  const listPersons = createPersonFinder(db, people)
  const listMessages = createSpeakerMessageList(db)
  const listOtherMessages = createOtherMessageList(db)
  const readThread = db.prepare<ThreadIds>('SELECT key, public_id FROM threads WHERE id = ?')
  return async request => {
    const persons = await db.read(() => listPersons(request))
    const personFilter = createSpeakerFilter(request, persons, channels)
    const lastNumber = (await db.read(() => findNewest.get()))?.number ?? 0
    const rows: PersonMessageRow[] = []
    for (let after = 0; after < lastNumber; after += sliceSize) {
      rows.push(...(await db.read(() => listMessages(personFilter, after))))
    }
    const ownSeqs = new Set(rows.map(({ seq }) => seq))
    const threads = new Set(rows.map(({ thread_id }) => thread_id))
    for (let after = 0; after < lastNumber && threads.size > 0; after += sliceSize) {
      for (const { seq, thread_id } of await db.read(() => listOtherMessages(after))) {
        if (!ownSeqs.has(seq)) threads.delete(thread_id)
      }
    }
    const namesByThread = await db.read(() =>
      flatMapInOrder([...threads], function* (thread) {
        return toThreadName(thread, yield* readThread.get(thread))
      }),
    )
    const ids = new Map(namesByThread)
    return { persons, messages: rows.map(row => readRow(row, ids.get(row.thread_id))) }
  }
}

function toThreadName(thread: number, ids: ThreadIds | undefined): readonly (readonly [number, string])[] {
  return ids ? [[thread, publicIdOf(ids)]] : []
}

function readRow({ agent, channel, flags, envelope }: PersonMessageRow, thread: string | undefined): PersonMessage {
  const { sender } = parseJson(envelope) as unknown as Pick<PersonMessage, 'sender'>
  return { agent, via: channel, sender, flags: flags === null ? [] : (parseJson(flags) as string[]), thread }
}

/** Prepares the search for the persons of several addresses, for each agent with which the addresses have links. */
function createPersonFinder(db: Sql, people: PersonTable) {
  const findAgents = db.prepare<{ agent: string }>('SELECT agent FROM person_links WHERE asker = ?1 OR target = ?1')
  const listOwned = db.prepare<{ agent: string; address: string }>(
    'SELECT agent, address FROM person_addresses WHERE subject = ?',
  )
  return function* ({
    agent,
    addresses,
    owner,
  }: PersonMessagesRequest): Operation<readonly (Person & { readonly agent: string })[]> {
    const namesByAddress: { readonly agent: string; readonly key: string }[] = []
    for (const address of addresses) {
      const key = formatPersonKey(address)
      for (const row of yield* findAgents.all(key))
        if (isSameSubject((yield* people.findSubject(row.agent, key))?.subject, address))
          namesByAddress.push({ agent: row.agent, key })
    }
    const ownedNames =
      owner === undefined ? [] : (yield* listOwned.all(owner)).map(row => ({ agent: row.agent, key: row.address }))
    const names = [...namesByAddress, ...ownedNames].filter(
      speakerName => agent === undefined || speakerName.agent === agent,
    )
    const keysByAgent = Map.groupBy(names, speakerName => speakerName.agent)
    const persons: (Person & { readonly agent: string })[] = []
    for (const [nameAgent, keys] of keysByAgent) {
      const described = yield* people.describeAll(nameAgent, [...new Set(keys.map(({ key }) => key))])
      persons.push(...described.map(person => ({ ...person, agent: nameAgent })))
    }
    return persons
  }
}

/** Returns false if the address belongs to somebody else by now. */
function isSameSubject(storedSubject: string | null | undefined, { subject }: PersonAddress): boolean {
  return subject === undefined || typeof storedSubject !== 'string' || storedSubject === subject
}

interface SpeakerFilter extends ReturnType<typeof createPersonFilter> {
  readonly owner: string
}

/**
 * Builds the filter that also finds the person when the gateway forgets them. An account with a known principal is not confused with another account
 * that has its address by now.
 */
function createSpeakerFilter(
  { agent, addresses, owner }: PersonMessagesRequest,
  persons: readonly Person[],
  channels: StoreContext['channels'],
): SpeakerFilter {
  const addressesByKey = new Map<string, PersonAddress>()
  for (const address of [...persons.flatMap(person => person.addresses), ...addresses]) {
    const key = formatPersonKey(address)
    addressesByKey.set(key, { ...addressesByKey.get(key), ...address })
  }
  const { subjects, ...names } = createPersonFilter(agent, [...addressesByKey.values()], channels)
  return { ...names, subjects: owner === undefined ? subjects : [...subjects, owner], owner: owner ?? '' }
}

function createSpeakerMessageList(db: Sql) {
  const find = db.prepare<PersonMessageRow>(
    `SELECT seq, agent, channel, thread_id, flags, envelope FROM messages
     WHERE kind = 'message' AND seq > ?1 AND seq <= ?2 AND (?3 IS NULL OR agent = ?3)
       AND json_extract(envelope, '$.sender.address') <> json_extract(envelope, '$.recipient')
       AND (principal IN (SELECT value FROM json_each(?4))
         OR channel || ' ' || lower(json_extract(envelope, '$.sender.address')) IN (SELECT value FROM json_each(?5))
         OR thread_id IN (SELECT id FROM threads WHERE scope <> 'public' AND lower(scope) = lower(?6)))`,
  )
  return ({ agent, addresses, subjects, owner }: SpeakerFilter, after: number) =>
    find.all(after, after + sliceSize, agent, JSON.stringify(subjects), JSON.stringify(addresses), owner)
}

/**
 * Prepares the search for messages that the agent did not write itself. The caller compares their threads, because the statement would read a list of
 * all threads for each slice.
 */
function createOtherMessageList(db: Sql) {
  const find = db.prepare<{ seq: number; thread_id: number }>(
    `SELECT seq, thread_id FROM messages WHERE kind = 'message' AND seq > ?1 AND seq <= ?2 AND thread_id IS NOT NULL
       AND json_extract(envelope, '$.sender.address') <> json_extract(envelope, '$.recipient')`,
  )
  return (after: number) => find.all(after, after + sliceSize)
}
