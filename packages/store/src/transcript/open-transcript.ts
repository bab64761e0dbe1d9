import { randomBytes } from 'node:crypto'
import { Rejection } from '@postern/core'
import type { EntryBody, ThreadAlias, ThreadKey, TranscriptStore } from '@postern/transcript'
import { nameEntry, splitMessages } from '@postern/transcript'
import type { Store } from '../store.ts'
import type { DeskThreadName } from './desk-binding.ts'
import { createDeskBindings } from './desk-binding.ts'
import { createDeskEntries } from './desk-entries.ts'
import { createTranscriptTable } from './entry-table.ts'
import type { Places } from './place-entries.ts'
import { appendMessages, firstOfEachId, placeEntries, placeNews } from './place-entries.ts'
import { createRangeReader } from './range-query.ts'
import type { TranscriptThread } from './thread-table.ts'
import { createTranscriptThreads, holderOf } from './thread-table.ts'

/** A transcript that the conversations of the desk can be part of. */
export interface DeskTranscript extends TranscriptStore {
  /**
   * From now on what is said in a conversation of the desk is part of the thread, and what was said, too: read where the desk keeps it, so
   * that edits and what is forgotten show here as well. False when there is no such conversation (yet).
   * `reader`: of what was said only the words of these principals, and the answers to them. @throws Rejection forbidden
   */
  bindDesk(thread: ThreadKey, conversation: DeskThreadName | number, reader?: readonly string[]): Promise<boolean>
  /** All threads of an owner, with their names; how many there were. Locks do not keep them. */
  forgetOwner(owner: string): Promise<number>
}

/** The transcript beside the desk's own tables, in the same file: what resolves is durable. */
export function createSqliteTranscript({ db, write, now }: Store): DeskTranscript {
  const threads = createTranscriptThreads(db)
  const said = createDeskEntries(db)
  const table = createTranscriptTable(db, said)
  const bindings = createDeskBindings(db, said)
  const readRange = createRangeReader(db, table)

  /** What was said at the desk since somebody last looked gets its places. */
  async function catchUp(key: ThreadKey): Promise<TranscriptThread | undefined> {
    const thread = threads.find(key)
    if (!thread || bindings.listNews(thread.id, key.thread_id).length === 0) return thread
    return write(() => takeNews(key))
  }

  function takeNews(key: ThreadKey): TranscriptThread | undefined {
    const thread = threads.find(key)
    if (!thread) return undefined
    let places: Places = thread
    for (const news of bindings.listNews(thread.id, key.thread_id)) {
      places = placeNews(table, { id: thread.id, ...places }, news)
      bindings.moveOn(thread.id, news)
    }
    threads.move(thread.id, places)
    return { ...thread, ...places }
  }

  function openOwn(owner: string, alias: ThreadAlias): ThreadKey {
    const known = threads.findByAlias(owner, alias)
    if (known !== undefined) return { owner, thread_id: known }
    const key = { owner, thread_id: randomBytes(16).toString('hex') }
    threads.addAlias(owner, alias, threads.create(key))
    return key
  }

  function drop(thread: number): void {
    table.clear(thread)
    bindings.remove(thread)
    threads.remove(thread)
  }

  /** For other eyes than before it is told anew, from the beginning. */
  function bind(thread: number, deskThread: number, reader: string | undefined): void {
    if (bindings.bind(thread, deskThread, reader)) return
    table.clear(thread)
    bindings.remove(thread)
    threads.move(thread, { last_seq: 0, last_chat_seq: 0 })
    bindings.bind(thread, deskThread, reader)
  }

  function rewrite(entries: readonly EntryBody[], thread: TranscriptThread) {
    table.clear(thread.id)
    threads.move(thread.id, { last_seq: 0, last_chat_seq: 0 })
    const appended = placeEntries(table, { ...thread, last_seq: 0, last_chat_seq: 0 }, firstOfEachId(entries))
    for (const entry of appended.asked) table.addNames(thread.id, entry, true)
    threads.move(thread.id, appended.places)
    return appended.asked
  }

  return {
    async openThread(owner, alias) {
      const known = threads.findByAlias(owner, alias)
      return known === undefined ? write(() => openOwn(owner, alias)) : { owner, thread_id: known }
    },
    async findThread(owner, alias) {
      const known = threads.findByAlias(owner, alias)
      return known === undefined ? undefined : { owner, thread_id: known }
    },
    addAlias: (key, alias) =>
      write(() => {
        const { id } = threads.require(key)
        const known = threads.findByAlias(key.owner, alias)
        if (known === undefined) threads.addAlias(key.owner, alias, id)
        else if (known !== key.thread_id) {
          throw new Rejection('forbidden', 'Cannot name thread: the name is another thread’s')
        }
      }),
    async listAliases(key) {
      const thread = threads.find(key)
      return thread ? threads.listAliases(thread.id) : []
    },
    append: (key, entries, request) =>
      write(() => {
        threads.requireWriter(key, request, now())
        const thread = takeNews(key) ?? threads.require(key)
        const { asked, places } = appendMessages(table, thread, splitMessages(entries))
        threads.move(thread.id, places)
        return asked
      }),
    async read(key, range = {}) {
      const thread = await catchUp(key)
      return thread ? readRange(thread.id, range) : []
    },
    async find(key, entryIds) {
      const thread = await catchUp(key)
      if (!thread) return []
      return entryIds
        .map(id => table.findByName(thread.id, nameEntry({ entry_id: id })))
        .filter(entry => entry !== undefined)
    },
    replace: (key, entries, request) => write(() => rewrite(entries, threads.requireWriter(key, request, now()))),
    forget: (key, request) =>
      write(() => {
        if (!threads.find(key)) return
        const { id } = threads.requireWriter(key, request, now())
        drop(id)
      }),
    bindDesk: (key, conversation, reader) =>
      write(() => {
        const { id } = threads.require(key)
        const deskThread = typeof conversation === 'number' ? conversation : bindings.findDeskThread(conversation)
        if (deskThread !== undefined) bind(id, deskThread, reader && JSON.stringify(reader.toSorted()))
        return deskThread !== undefined
      }),
    forgetOwner: owner =>
      write(() => {
        const all = threads.listOf(owner)
        for (const id of all) drop(id)
        return all.length
      }),
    acquireLock: (key, ttlMs) =>
      write(() => {
        const thread = threads.require(key)
        if (holderOf(thread, now()) !== undefined) return undefined
        const lock = { token: randomBytes(16).toString('hex'), fence: thread.fences + 1 }
        const expires_at = now() + ttlMs
        threads.lock(thread.id, { ...lock, until: expires_at })
        return { ...lock, expires_at }
      }),
    async isLocked(key) {
      const thread = threads.find(key)
      return thread !== undefined && holderOf(thread, now()) !== undefined
    },
    releaseLock: (key, token) =>
      write(() => {
        const thread = threads.find(key)
        return thread !== undefined && threads.unlock(thread.id, token, now())
      }),
  }
}
