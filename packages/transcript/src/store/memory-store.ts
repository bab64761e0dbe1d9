// Stores threads, entries and locks in memory, as the reference for durable transcript stores.
import type { System } from '@postern/message'
import { Rejection, randomHex, Unavailable } from '@postern/message'
import type { TranscriptEntry } from '../entry/entry.ts'
import type { NumberedEntries } from '../entry/numbered-entries.ts'
import {
  appendNumbered,
  createNumberedEntries,
  nameEntry,
  replaceEntries,
  splitMessages,
} from '../entry/numbered-entries.ts'
import type {
  EntryRange,
  ThreadAlias,
  ThreadKey,
  ThreadLock,
  TranscriptStore,
  WriteRequest,
} from './transcript-store.ts'

interface StoredThread {
  readonly owner: string
  readonly aliases: ThreadAlias[]
  numbered: NumberedEntries
  lock?: ThreadLock | undefined
  lastFence: number
}

interface MemoryThreads {
  readonly system: Pick<System, 'now' | 'randomBytes'>
  readonly threads: Map<string, StoredThread>
  /** The ids of threads, keyed by `nameThread`. */
  readonly names: Map<string, string>
}

/** Creates a transcript that lasts as long as the process. It is the library's default, and the reference for durable stores. */
export function createMemoryTranscript(system: MemoryThreads['system']): TranscriptStore {
  const memory: MemoryThreads = { system, threads: new Map(), names: new Map() }
  return { ...createThreadNames(memory), ...createThreadEntries(memory), ...createThreadLocks(memory) }
}

function findOwnThread({ owner, thread_id }: ThreadKey, { threads }: MemoryThreads): StoredThread | undefined {
  const thread = threads.get(thread_id)
  return thread?.owner === owner ? thread : undefined
}

function requireOwnThread(key: ThreadKey, memory: MemoryThreads): StoredThread {
  const thread = findOwnThread(key, memory)
  if (!thread) throw new Rejection('forbidden', 'Cannot use thread: no such thread of this owner')
  return thread
}

function requireWriter(key: ThreadKey, memory: MemoryThreads, request: WriteRequest = {}): StoredThread {
  const thread = requireOwnThread(key, memory)
  const isLocked = thread.lock !== undefined && thread.lock.expires_at > memory.system.now()
  const lockToken = isLocked ? thread.lock?.token : undefined
  if (lockToken !== request.token) throw new Unavailable('Cannot write thread: transcript_lock_contention')
  return thread
}

type ThreadNames = Pick<TranscriptStore, 'openThread' | 'findThread' | 'addAlias' | 'listAliases' | 'forget'>

function createThreadNames(memory: MemoryThreads): ThreadNames {
  const { system, threads, names } = memory
  return {
    async openThread(owner, alias) {
      const existingId = names.get(nameThread(owner, alias))
      if (existingId !== undefined) return { owner, thread_id: existingId }
      const thread_id = randomHex(system, 16)
      threads.set(thread_id, { owner, aliases: [alias], numbered: createNumberedEntries(), lastFence: 0 })
      names.set(nameThread(owner, alias), thread_id)
      return { owner, thread_id }
    },
    async findThread(owner, alias) {
      const thread_id = names.get(nameThread(owner, alias))
      return thread_id === undefined ? undefined : { owner, thread_id }
    },
    async addAlias(key, alias) {
      const { aliases } = requireOwnThread(key, memory)
      const name = nameThread(key.owner, alias)
      const existingId = names.get(name)
      if (existingId === key.thread_id) return
      if (existingId !== undefined) throw new Rejection('forbidden', 'Cannot name thread: the name is another thread’s')
      names.set(name, key.thread_id)
      aliases.push(alias)
    },
    async listAliases(key) {
      return [...(findOwnThread(key, memory)?.aliases ?? [])]
    },
    async forget(key, request) {
      if (!findOwnThread(key, memory)) return
      const { aliases } = requireWriter(key, memory, request)
      for (const alias of aliases) names.delete(nameThread(key.owner, alias))
      threads.delete(key.thread_id)
    },
  }
}

function createThreadEntries(memory: MemoryThreads): Pick<TranscriptStore, 'append' | 'read' | 'find' | 'replace'> {
  return {
    async append(key, entries, request) {
      const thread = requireWriter(key, memory, request)
      return appendNumbered(thread.numbered, splitMessages(entries))
    },
    async read(key, range = {}) {
      return selectEntries(findOwnThread(key, memory)?.numbered.entries ?? [], range)
    },
    async find(key, entryIds) {
      const byName = findOwnThread(key, memory)?.numbered.entriesByName
      return entryIds.map(id => byName?.get(nameEntry({ entry_id: id }))).filter(entry => entry !== undefined)
    },
    async replace(key, entries, request) {
      const thread = requireWriter(key, memory, request)
      thread.numbered = replaceEntries(entries)
      return [...thread.numbered.entries]
    },
  }
}

function createThreadLocks(memory: MemoryThreads): Pick<TranscriptStore, 'acquireLock' | 'isLocked' | 'releaseLock'> {
  const { system } = memory
  return {
    async acquireLock(key, ttlMs) {
      const thread = requireOwnThread(key, memory)
      const now = system.now()
      if (thread.lock && thread.lock.expires_at > now) return undefined
      thread.lastFence += 1
      thread.lock = { token: randomHex(system, 16), fence: thread.lastFence, expires_at: now + ttlMs }
      return thread.lock
    },
    async isLocked(key) {
      return (findOwnThread(key, memory)?.lock?.expires_at ?? 0) > system.now()
    },
    async releaseLock(key, token) {
      const thread = findOwnThread(key, memory)
      if (!thread?.lock || thread.lock.token !== token || thread.lock.expires_at <= system.now()) return false
      thread.lock = undefined
      return true
    },
  }
}

/** Returns the name of a thread. Different (owner, transport, key) always have different names. */
function nameThread(owner: string, { transport, key }: ThreadAlias): string {
  return JSON.stringify([owner, transport, key])
}

/** Selects the entries of `range`, in ascending order, from all entries of a thread. Every store's `read` returns this result. */
export function selectEntries(entries: readonly TranscriptEntry[], range: EntryRange): readonly TranscriptEntry[] {
  const entriesInRange = entries.filter(entry => isWithin(entry, range))
  const isBackward = range.tail !== undefined
  const requestedEntries = isBackward
    ? entriesInRange.slice(Math.max(entriesInRange.length - (range.tail ?? 0), 0))
    : entriesInRange.slice(0, range.limit ?? entriesInRange.length)
  if (range.max_bytes === undefined) return requestedEntries
  const sizes = requestedEntries.map(entry => Buffer.byteLength(JSON.stringify(entry)))
  const count = countFitting(isBackward ? sizes.reverse() : sizes, range)
  return isBackward ? requestedEntries.slice(requestedEntries.length - count) : requestedEntries.slice(0, count)
}

/** Returns how many of these sizes fit, which is at least one. @throws Rejection too_large if all are required and do not fit */
export function countFitting(
  sizes: readonly number[],
  { max_bytes = Number.POSITIVE_INFINITY, is_whole }: EntryRange,
): number {
  let bytes = 0
  const end = sizes.findIndex((size, index) => {
    bytes += size
    return index > 0 && bytes > max_bytes
  })
  if (end < 0) return sizes.length
  if (!is_whole) return end
  throw new Rejection('too_large', `Cannot read thread: more than ${max_bytes} bytes; ask for fewer messages`)
}

function isWithin(entry: TranscriptEntry, range: EntryRange): boolean {
  const { after_seq = 0, before_seq = Number.POSITIVE_INFINITY, scopes, kinds, agent_keys, chat } = range
  const position = chat ? entry.chat_seq : entry.seq
  if (position === undefined || position <= after_seq || position >= before_seq) return false
  if (scopes && !scopes.includes(entry.scope)) return false
  if (kinds && !kinds.includes(entry.kind)) return false
  return !agent_keys || (entry.agent_key !== undefined && agent_keys.includes(entry.agent_key))
}
