// Keeps the rooms and their entries in memory.
import { randomUUID } from 'node:crypto'
import { createExpiringMap } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { ConnectorLimits } from '../config.ts'
import type { RequirementView } from './requirements.ts'
import type { RoomPerson } from './session.ts'

type RoomAuthor =
  | { readonly kind: 'person'; readonly id: string; readonly name: string }
  | { readonly kind: 'agent'; readonly address: string }

/** One entry of a room. */
export interface RoomEntry {
  readonly id: string
  /** The revision, which grows with every change in the room, so that a reader who knows one can ask for newer entries. */
  readonly revision: number
  /** The time in ms. */
  readonly at: number
  readonly author: RoomAuthor
  readonly text: string
  readonly state: 'said' | 'working' | 'failed'
  /** The reason why the message goes no further. */
  readonly problem?: string | undefined
  readonly requirements: readonly RequirementView[]
}

type Utterance = Pick<RoomEntry, 'author' | 'text'> & Partial<Pick<RoomEntry, 'state'>>

export interface Room {
  readonly name: string
  readonly people: ReadonlyMap<string, RoomPerson>
  /** Adds a person to those present. If there are too many, the one who has been silent longest is no longer shown. */
  enter(person: RoomPerson): void
  addEntry(utterance: Utterance): RoomEntry
  /** Changes an entry, unless it no longer exists. */
  updateEntry(id: string, changes: Partial<Pick<RoomEntry, 'text' | 'state' | 'problem' | 'requirements'>>): void
  findEntry(id: string): RoomEntry | undefined
  /** Returns the newest revision. */
  revision(): number
  /** Lists the entries that have changed since a revision, oldest entry first. */
  listEntriesAfter(revision: number): readonly RoomEntry[]
  /** Resolves with the next change, or when `signal` aborts. */
  nextChange(signal: AbortSignal): Promise<void>
  /** Returns the A2A `contextId` of the conversation with an agent. */
  contextFor(address: string): string
}

export interface Rooms {
  /** Opens the room of this name, or creates one. @throws Rejection */
  open(name: string): Room
  findRoom(name: string): Room | undefined
  list(): readonly Room[]
}

const namePattern = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/
const maxContexts = 200

/** Creates the rooms in memory: after a restart every room is empty, and every conversation a new one. */
export function createRooms(limits: ConnectorLimits, now: () => number): Rooms {
  const rooms = new Map<string, Room>()

  /** Deletes a room in which nobody has said anything, except for the first one. */
  function dropSilentRoom(): boolean {
    const silent = [...rooms.values()].slice(1).find(room => room.revision() === 0)
    return silent !== undefined && rooms.delete(silent.name)
  }

  return {
    open(name) {
      const existingRoom = rooms.get(name)
      if (existingRoom) return existingRoom
      if (!namePattern.test(name)) {
        throw new Rejection('malformed', 'The name of a room has up to 32 small letters, figures and hyphens')
      }
      if (rooms.size >= limits.rooms && !dropSilentRoom()) throw new Rejection('forbidden', 'There are enough rooms')
      const newRoom = createRoom(name, limits, now)
      rooms.set(name, newRoom)
      return newRoom
    },
    findRoom: name => rooms.get(name),
    list: () => [...rooms.values()],
  }
}

function createRoom(name: string, limits: ConnectorLimits, now: () => number): Room {
  const people = new Map<string, RoomPerson>()
  const entries = new Map<string, RoomEntry>()
  const contexts = createExpiringMap<string>(maxContexts)
  const waiters = new Set<() => void>()
  let revision = 0

  function storeEntry(entry: Omit<RoomEntry, 'revision'>): RoomEntry {
    revision += 1
    const revisedEntry = { ...entry, revision }
    entries.set(entry.id, revisedEntry)
    const [oldest] = entries.keys()
    if (entries.size > limits.entriesPerRoom && oldest !== undefined) entries.delete(oldest)
    for (const wake of [...waiters]) wake()
    return revisedEntry
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
    addEntry: ({ author, text, state = 'said' }) =>
      storeEntry({ id: randomUUID(), at: now(), author, text, state, requirements: [] }),
    updateEntry(id, changes) {
      const entry = entries.get(id)
      if (entry) storeEntry({ ...entry, ...changes })
    },
    findEntry: id => entries.get(id),
    revision: () => revision,
    listEntriesAfter: revision => [...entries.values()].filter(entry => entry.revision > revision),
    nextChange: signal =>
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
