import { randomUUID } from 'node:crypto'
import { Rejection } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import type { ConnectorLimits } from '../config.ts'
import type { ShownRequirement } from './requirements.ts'
import type { RoomPerson } from './session.ts'

type RoomAuthor =
  | { readonly kind: 'person'; readonly id: string; readonly name: string }
  | { readonly kind: 'agent'; readonly address: string }

/** One thing that was said. */
export interface RoomEntry {
  readonly id: string
  /** Grows with every change in the room: whoever knows one, knows what is newer. */
  readonly revision: number
  /** ms */
  readonly at: number
  readonly author: RoomAuthor
  readonly text: string
  readonly state: 'said' | 'working' | 'failed'
  /** Why it goes no further. */
  readonly problem?: string | undefined
  readonly requirements: readonly ShownRequirement[]
}

type Utterance = Pick<RoomEntry, 'author' | 'text'> & Partial<Pick<RoomEntry, 'state'>>

export interface Room {
  readonly name: string
  readonly people: ReadonlyMap<string, RoomPerson>
  /** They are among those who are here; of too many whoever has been still for longest is not shown any more. */
  enter(person: RoomPerson): void
  say(partialAnswer: Utterance): RoomEntry
  /** Nothing happens to what is not there any more. */
  change(id: string, changes: Partial<Pick<RoomEntry, 'text' | 'state' | 'problem' | 'requirements'>>): void
  find(id: string): RoomEntry | undefined
  /** The newest one. */
  revision(): number
  /** What has changed since, in the order in which it was said. */
  after(revision: number): readonly RoomEntry[]
  /** Resolves with the next change, or when `signal` aborts. */
  changed(signal: AbortSignal): Promise<void>
  /** One conversation with each agent: its A2A `contextId`. */
  contextFor(address: string): string
}

export interface Rooms {
  /** The room of this name, made if there is none. @throws Rejection */
  open(name: string): Room
  find(name: string): Room | undefined
  list(): readonly Room[]
}

const namePattern = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/
const maxContexts = 200

/** All in memory: after a restart every room is empty, and every conversation a new one. */
export function createRooms(limits: ConnectorLimits, now: () => number): Rooms {
  const rooms = new Map<string, Room>()

  /** In which nobody has said anything; never the first one. */
  function dropSilentRoom(): boolean {
    const silent = [...rooms.values()].slice(1).find(room => room.revision() === 0)
    return silent !== undefined && rooms.delete(silent.name)
  }

  return {
    open(name) {
      const known = rooms.get(name)
      if (known) return known
      if (!namePattern.test(name)) {
        throw new Rejection('malformed', 'The name of a room has up to 32 small letters, figures and hyphens')
      }
      if (rooms.size >= limits.rooms && !dropSilentRoom()) throw new Rejection('forbidden', 'There are enough rooms')
      const made = createRoom(name, limits, now)
      rooms.set(name, made)
      return made
    },
    find: name => rooms.get(name),
    list: () => [...rooms.values()],
  }
}

function createRoom(name: string, limits: ConnectorLimits, now: () => number): Room {
  const people = new Map<string, RoomPerson>()
  const entries = new Map<string, RoomEntry>()
  const contexts = createExpiringMap<string>(maxContexts)
  const waiters = new Set<() => void>()
  let revision = 0

  function put(entry: Omit<RoomEntry, 'revision'>): RoomEntry {
    revision += 1
    const placed = { ...entry, revision }
    entries.set(entry.id, placed)
    const [oldest] = entries.keys()
    if (entries.size > limits.entriesPerRoom && oldest !== undefined) entries.delete(oldest)
    for (const wake of [...waiters]) wake()
    return placed
  }

  return {
    name,
    people,
    enter(person) {
      people.delete(person.id)
      people.set(person.id, person)
      const [stillest] = people.keys()
      if (people.size > limits.peoplePerRoom && stillest !== undefined) people.delete(stillest)
    },
    say: ({ author, text, state = 'said' }) =>
      put({ id: randomUUID(), at: now(), author, text, state, requirements: [] }),
    change(id, changes) {
      const entry = entries.get(id)
      if (entry) put({ ...entry, ...changes })
    },
    find: id => entries.get(id),
    revision: () => revision,
    after: known => [...entries.values()].filter(entry => entry.revision > known),
    changed: signal =>
      new Promise(resolve => {
        const wake = () => {
          waiters.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiters.add(wake)
        signal.addEventListener('abort', wake)
        if (signal.aborted) wake()
      }),
    contextFor(address) {
      const context = contexts.get(address) ?? randomUUID()
      contexts.set(address, context)
      return context
    },
  }
}
