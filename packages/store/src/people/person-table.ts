// Stores linked addresses of people.
import type { ChannelName } from '@postern/message'
import type { Person, PersonAddress } from '@postern/pipeline'
import { loadRareKeys } from '../peers/rare-keys.ts'
import type { Operation } from '../sql/operation.ts'
import { mapInOrder } from '../sql/operation.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'

/** Formats an address as the key of a person. The key is the channel, a space and `@local@domain`. */
export function formatPersonKey({ via, address }: PersonAddress): string {
  return `${via} ${address}`
}

export function readPersonKey(key: string, subject?: string | null): PersonAddress {
  const space = key.indexOf(' ')
  const address = { via: key.slice(0, space) as ChannelName, address: key.slice(space + 1) }
  return typeof subject === 'string' ? { ...address, subject } : address
}

/** The tables of linked addresses and of the state of people. The members are operations of a write. */
export interface PersonTable {
  /** Lists the keys of all addresses of the person with this address, in order. */
  findKeys(agent: string, key: string): Operation<readonly string[]>
  /** Finds the person of an address. Returns undefined if the address has no links. */
  find(agent: string, key: string): Operation<Person | undefined>
  /**
   * Describes the persons of these addresses, including addresses without links. `subjects` are the principals of addresses that may have been deleted
   * from the table.
   */
  describeAll(
    agent: string,
    keys: readonly string[],
    subjects?: ReadonlyMap<string, string>,
  ): Operation<readonly Person[]>
  /** Finds the principal for which an address was proven. Returns undefined if the table does not have the address. */
  findSubject(agent: string, key: string): Operation<{ readonly subject: string | null } | undefined>
  /** Stores an address with its principal. The first principal of an address stays. */
  storeAddress(agent: string, key: string, subject: string | undefined): void
  /** Deletes the addresses that have no link. */
  dropUnlinked(agent: string, keys: readonly string[]): void
  /** Moves a state. The moved state replaces an existing state. */
  moveState(agent: string, from: string, to: string): void
  /** Moves a state if the new person has none. Otherwise the old state is deleted. */
  copyStateIfAbsent(agent: string, from: string, to: string): void
  deleteState(agent: string, person: string): void
}

export function createPersonTable(db: Sql, ownership: WriterExclusivity): PersonTable {
  const addressKeys = loadRareKeys(db, 'SELECT agent, address FROM person_addresses', ownership)
  const findKeys = db.prepare<{ key: string }>(
    `WITH RECURSIVE person (key) AS (SELECT CAST(?2 AS TEXT) UNION
       SELECT CASE WHEN l.asker = p.key THEN l.target ELSE l.asker END
       FROM person p JOIN person_links l ON l.agent = ?1 AND (l.asker = p.key OR l.target = p.key))
     SELECT key FROM person ORDER BY key`,
  )
  const findSubject = db.prepare<{ subject: string | null }>(
    'SELECT subject FROM person_addresses WHERE agent = ? AND address = ?',
  )
  const upsertAddress = db.prepare(
    `INSERT INTO person_addresses (agent, address, subject) VALUES (?, ?, ?)
     ON CONFLICT (agent, address) DO UPDATE SET subject = coalesce(person_addresses.subject, excluded.subject)`,
  )
  const deleteUnlinked = db.prepare(
    `DELETE FROM person_addresses WHERE agent = ?1 AND address = ?2
       AND NOT EXISTS (SELECT 1 FROM person_links WHERE agent = ?1 AND (asker = ?2 OR target = ?2))`,
  )
  function* listKeys(agent: string, key: string) {
    return (yield* findKeys.all(agent, key)).map(row => row.key)
  }
  const describe = createPersonReader(db, {
    listKeys,
    *findSubject(agent, key) {
      return (yield* findSubject.get(agent, key))?.subject
    },
  })
  return {
    findKeys: listKeys,
    *find(agent, key) {
      const person = yield* describe(agent, key)
      return person.addresses.length > 1 ? person : undefined
    },
    *describeAll(agent, keys, subjects) {
      const persons = yield* mapInOrder(keys, key => describe(agent, key, subjects))
      return [...new Map(persons.map(person => [person.id, person])).values()]
    },
    *findSubject(agent, key) {
      return addressKeys.mayHave([agent, key]) ? yield* findSubject.get(agent, key) : undefined
    },
    storeAddress(agent, key, subject) {
      addressKeys.add([agent, key])
      upsertAddress.run(agent, key, subject ?? null)
    },
    dropUnlinked(agent, keys) {
      for (const key of keys) deleteUnlinked.run(agent, key)
    },
    ...createPersonStateTable(db),
  }
}

/** Creates the members that move and delete the states of people. */
function createPersonStateTable(db: Sql): Pick<PersonTable, 'moveState' | 'copyStateIfAbsent' | 'deleteState'> {
  const copyState = `INSERT INTO person_states (agent, person, state)
    SELECT agent, ?3, state FROM person_states WHERE agent = ?1 AND person = ?2`
  const moveState = db.prepare(`${copyState} ON CONFLICT (agent, person) DO UPDATE SET state = excluded.state`)
  const copyStateIfAbsent = db.prepare(`${copyState} ON CONFLICT DO NOTHING`)
  const deleteStateRow = db.prepare('DELETE FROM person_states WHERE agent = ? AND person = ?')
  return {
    moveState(agent, from, to) {
      if (from === to) return
      moveState.run(agent, from, to)
      deleteStateRow.run(agent, from)
    },
    copyStateIfAbsent(agent, from, to) {
      if (from === to) return
      copyStateIfAbsent.run(agent, from, to)
      deleteStateRow.run(agent, from)
    },
    deleteState: (agent, person) => void deleteStateRow.run(agent, person),
  }
}

interface PersonReaderDeps {
  readonly listKeys: PersonTable['findKeys']
  findSubject(agent: string, key: string): Operation<string | null | undefined>
}

function createPersonReader(db: Sql, { listKeys, findSubject }: PersonReaderDeps) {
  const listLinks = db.prepare<PersonLinkRow>(
    'SELECT id, asker, target FROM person_links WHERE agent = ?1 AND asker IN (SELECT value FROM json_each(?2))',
  )
  return function* (agent: string, key: string, subjects?: ReadonlyMap<string, string>): Operation<Person> {
    const keys = yield* listKeys(agent, key)
    function* read(personKey: string) {
      return readPersonKey(personKey, (yield* findSubject(agent, personKey)) ?? subjects?.get(personKey))
    }
    const links = keys.length > 1 ? yield* listLinks.all(agent, JSON.stringify(keys)) : []
    return {
      id: keys[0] ?? key,
      founder: yield* read(findFounder(links, key)),
      addresses: yield* mapInOrder(keys, read),
    }
  }
}

interface PersonLinkRow {
  readonly id: number
  readonly asker: string
  readonly target: string
}

/**
 * Finds the address that all other addresses of a person have joined. The links are applied in their order. In each link, the target joins the person
 * of the asker.
 */
function findFounder(links: readonly PersonLinkRow[], key: string): string {
  const founders = new Map<string, string>()
  const founderOf = (personKey: string) => founders.get(personKey) ?? personKey
  for (const { asker, target } of links.toSorted((a, b) => a.id - b.id)) {
    const [founder, joinedFounder] = [founderOf(asker), founderOf(target)]
    for (const [personKey, formerFounder] of founders)
      if (formerFounder === joinedFounder) founders.set(personKey, founder)
    founders.set(joinedFounder, founder).set(asker, founder).set(target, founder)
  }
  return founderOf(key)
}
