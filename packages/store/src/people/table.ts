import type { ChannelName, Person, PersonAddress } from '@postern/core'
import type { Ownership, Sql } from '../engine/database.ts'
import { loadRareKeys } from '../peers/senders.ts'

/** As the tables hold an address: channel, space, `@local@domain`. */
export function formatPersonKey({ via, address }: PersonAddress): string {
  return `${via} ${address}`
}

export function readPersonKey(key: string, subject?: string | null): PersonAddress {
  const space = key.indexOf(' ')
  const address = { via: key.slice(0, space) as ChannelName, address: key.slice(space + 1) }
  return typeof subject === 'string' ? { ...address, subject } : address
}

/** Who is linked with whom. Synchronous: inside a write. */
export interface PersonTable {
  /** Keys of all that are linked with this one, itself among them, in order. */
  findKeys(agent: string, key: string): readonly string[]
  /** Undefined for one that is linked with none. */
  find(agent: string, key: string): Person | undefined
  /** The principal an address was proven for; undefined when it is not known here. */
  findSubject(agent: string, key: string): { readonly subject: string | null } | undefined
  /** The first principal of an address stays. */
  know(agent: string, key: string, subject: string | undefined): void
  /** Addresses without a link are not kept. */
  dropUnlinked(agent: string, keys: readonly string[]): void
  /** In place of what is there. */
  moveState(agent: string, from: string, to: string): void
  /** Only where nothing is; otherwise it is gone. */
  offerState(agent: string, from: string, to: string): void
  endState(agent: string, person: string): void
}

export function createPersonTable(db: Sql, ownership: Ownership): PersonTable {
  const known = loadRareKeys(db, 'SELECT agent, address FROM person_addresses', ownership)
  const findKeys = db.prepare<{ key: string }>(
    `WITH RECURSIVE person (key) AS (SELECT CAST(?2 AS TEXT) UNION
       SELECT CASE WHEN l.asker = p.key THEN l.target ELSE l.asker END
       FROM person p JOIN person_links l ON l.agent = ?1 AND (l.asker = p.key OR l.target = p.key))
     SELECT key FROM person ORDER BY key`,
  )
  const findSubject = db.prepare<{ subject: string | null }>(
    'SELECT subject FROM person_addresses WHERE agent = ? AND address = ?',
  )
  const know = db.prepare(
    `INSERT INTO person_addresses (agent, address, subject) VALUES (?, ?, ?)
     ON CONFLICT (agent, address) DO UPDATE SET subject = coalesce(person_addresses.subject, excluded.subject)`,
  )
  const drop = db.prepare(
    `DELETE FROM person_addresses WHERE agent = ?1 AND address = ?2
       AND NOT EXISTS (SELECT 1 FROM person_links WHERE agent = ?1 AND (asker = ?2 OR target = ?2))`,
  )
  const copyState = `INSERT INTO person_states (agent, person, state)
    SELECT agent, ?3, state FROM person_states WHERE agent = ?1 AND person = ?2`
  const moveState = db.prepare(`${copyState} ON CONFLICT (agent, person) DO UPDATE SET state = excluded.state`)
  const offerState = db.prepare(`${copyState} ON CONFLICT DO NOTHING`)
  const endState = db.prepare('DELETE FROM person_states WHERE agent = ? AND person = ?')
  const listKeys = (agent: string, key: string) => findKeys.all(agent, key).map(row => row.key)
  return {
    findKeys: listKeys,
    find(agent, key) {
      const keys = listKeys(agent, key)
      const [id] = keys
      if (id === undefined || keys.length < 2) return undefined
      return { id, addresses: keys.map(each => readPersonKey(each, findSubject.get(agent, each)?.subject)) }
    },
    findSubject: (agent, key) => (known.mayHave([agent, key]) ? findSubject.get(agent, key) : undefined),
    know(agent, key, subject) {
      known.note([agent, key])
      know.run(agent, key, subject ?? null)
    },
    dropUnlinked(agent, keys) {
      for (const key of keys) drop.run(agent, key)
    },
    moveState(agent, from, to) {
      if (from === to) return
      moveState.run(agent, from, to)
      endState.run(agent, from)
    },
    offerState(agent, from, to) {
      if (from === to) return
      offerState.run(agent, from, to)
      endState.run(agent, from)
    },
    endState: (agent, person) => void endState.run(agent, person),
  }
}
