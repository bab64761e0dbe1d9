import type { Platform } from '@postern/core'
import { Rejection, randomHex, Unavailable } from '@postern/core'
import type { TranscriptEntry } from '../entry/entry.ts'
import type { PlacedEntries } from '../entry/place-entries.ts'
import { createPlacedEntries, nameEntry, placeMessages, replaceEntries, splitMessages } from '../entry/place-entries.ts'
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
  placed: PlacedEntries
  lock?: ThreadLock | undefined
  fences: number
}

interface MemoryThreads {
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly threads: Map<string, StoredThread>
  /** By `nameThread`. */
  readonly names: Map<string, string>
}

/** A transcript that lives as long as the process: the library's default, and the reference for durable stores. */
export function createMemoryTranscript(platform: MemoryThreads['platform']): TranscriptStore {
  const memory: MemoryThreads = { platform, threads: new Map(), names: new Map() }
  return { ...createThreadNames(memory), ...createThreadEntries(memory), ...createThreadLocks(memory) }
}

function findOwn({ owner, thread_id }: ThreadKey, { threads }: MemoryThreads): StoredThread | undefined {
  const thread = threads.get(thread_id)
  return thread?.owner === owner ? thread : undefined
}

function requireOwn(key: ThreadKey, memory: MemoryThreads): StoredThread {
  const thread = findOwn(key, memory)
  if (!thread) throw new Rejection('forbidden', 'Cannot use thread: no such thread of this owner')
  return thread
}

function requireWriter(key: ThreadKey, memory: MemoryThreads, request: WriteRequest = {}): StoredThread {
  const thread = requireOwn(key, memory)
  const isHeld = thread.lock !== undefined && thread.lock.expires_at > memory.platform.now()
  const holder = isHeld ? thread.lock?.token : undefined
  if (holder !== request.token) throw new Unavailable('Cannot write thread: transcript_lock_contention')
  return thread
}

type ThreadNames = Pick<TranscriptStore, 'openThread' | 'findThread' | 'addAlias' | 'listAliases' | 'forget'>

function createThreadNames(memory: MemoryThreads): ThreadNames {
  const { platform, threads, names } = memory
  return {
    async openThread(owner, alias) {
      const known = names.get(nameThread(owner, alias))
      if (known !== undefined) return { owner, thread_id: known }
      const thread_id = randomHex(platform, 16)
      threads.set(thread_id, { owner, aliases: [alias], placed: createPlacedEntries(), fences: 0 })
      names.set(nameThread(owner, alias), thread_id)
      return { owner, thread_id }
    },
    async findThread(owner, alias) {
      const thread_id = names.get(nameThread(owner, alias))
      return thread_id === undefined ? undefined : { owner, thread_id }
    },
    async addAlias(key, alias) {
      const { aliases } = requireOwn(key, memory)
      const name = nameThread(key.owner, alias)
      const known = names.get(name)
      if (known === key.thread_id) return
      if (known !== undefined) throw new Rejection('forbidden', 'Cannot name thread: the name is another thread’s')
      names.set(name, key.thread_id)
      aliases.push(alias)
    },
    async listAliases(key) {
      return [...(findOwn(key, memory)?.aliases ?? [])]
    },
    async forget(key, request) {
      if (!findOwn(key, memory)) return
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
      return placeMessages(thread.placed, splitMessages(entries))
    },
    async read(key, range = {}) {
      return selectEntries(findOwn(key, memory)?.placed.all ?? [], range)
    },
    async find(key, entryIds) {
      const known = findOwn(key, memory)?.placed.known
      return entryIds.map(id => known?.get(nameEntry({ entry_id: id }))).filter(entry => entry !== undefined)
    },
    async replace(key, entries, request) {
      const thread = requireWriter(key, memory, request)
      thread.placed = replaceEntries(entries)
      return [...thread.placed.all]
    },
  }
}

function createThreadLocks(memory: MemoryThreads): Pick<TranscriptStore, 'acquireLock' | 'isLocked' | 'releaseLock'> {
  const { platform } = memory
  return {
    async acquireLock(key, ttlMs) {
      const thread = requireOwn(key, memory)
      const now = platform.now()
      if (thread.lock && thread.lock.expires_at > now) return undefined
      thread.fences += 1
      thread.lock = { token: randomHex(platform, 16), fence: thread.fences, expires_at: now + ttlMs }
      return thread.lock
    },
    async isLocked(key) {
      return (findOwn(key, memory)?.lock?.expires_at ?? 0) > platform.now()
    },
    async releaseLock(key, token) {
      const thread = findOwn(key, memory)
      if (!thread?.lock || thread.lock.token !== token || thread.lock.expires_at <= platform.now()) return false
      thread.lock = undefined
      return true
    },
  }
}

/** Different (owner, transport, key) always give different names, whatever characters they contain. */
function nameThread(owner: string, { transport, key }: ThreadAlias): string {
  return JSON.stringify([owner, transport, key])
}

/** The entries of `range`, ascending, out of all entries of a thread. Pure; every store's `read` gives this result. */
export function selectEntries(entries: readonly TranscriptEntry[], range: EntryRange): readonly TranscriptEntry[] {
  const within = entries.filter(entry => isWithin(entry, range))
  const isBackward = range.tail !== undefined
  const asked = isBackward
    ? within.slice(Math.max(within.length - (range.tail ?? 0), 0))
    : within.slice(0, range.limit ?? within.length)
  if (range.max_bytes === undefined) return asked
  const sizes = asked.map(entry => Buffer.byteLength(JSON.stringify(entry)))
  const count = countFitting(isBackward ? sizes.reverse() : sizes, range)
  return isBackward ? asked.slice(asked.length - count) : asked.slice(0, count)
}

/** How many of these sizes fit; at least one. @throws Rejection too_large when all are required */
export function countFitting(
  sizes: readonly number[],
  { max_bytes = Number.POSITIVE_INFINITY, is_whole }: EntryRange,
): number {
  let bytes = 0
  const end = sizes.findIndex((size, at) => {
    bytes += size
    return at > 0 && bytes > max_bytes
  })
  if (end < 0) return sizes.length
  if (!is_whole) return end
  throw new Rejection('too_large', `Cannot read thread: more than ${max_bytes} bytes; ask for fewer messages`)
}

function isWithin(entry: TranscriptEntry, range: EntryRange): boolean {
  const { after_seq = 0, before_seq = Number.POSITIVE_INFINITY, scopes, kinds, agent_keys, chat } = range
  const place = chat ? entry.chat_seq : entry.seq
  if (place === undefined || place <= after_seq || place >= before_seq) return false
  if (scopes && !scopes.includes(entry.scope)) return false
  if (kinds && !kinds.includes(entry.kind)) return false
  return !agent_keys || (entry.agent_key !== undefined && agent_keys.includes(entry.agent_key))
}
