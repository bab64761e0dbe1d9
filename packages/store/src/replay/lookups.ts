import { hash } from 'node:crypto'
import type { Json, Lookup, ReplayStore } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { formatJson, parseJson, prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

/** Answers of other hosts as they were. Synchronous: inside a write. */
export interface LookupTable {
  /** What these principals have published. */
  forget(owners: readonly string[]): void
}

export interface LookupLog extends Pick<ReplayStore, 'noteLookup' | 'findLookup'> {
  flush(): Promise<void>
}

/** So many are kept, the oldest go first. */
const keptInAll = 20_000
/** Longer ones are not kept, characters of JSON: documents of peers have few. */
const maxChars = 64 * 1024
/** So many wait to be written; more are left out. */
const maxWaiting = 1_000
const flushMs = 250
/** Whose last answer is in memory, by question. */
const maxKnown = 5_000

export function createLookupTable(db: Database): LookupTable {
  const end = prepareQuery(db, 'DELETE FROM lookups WHERE owner IN (SELECT value FROM json_each(?))')
  return {
    forget(owners) {
      end.run(formatJson(owners))
    },
  }
}

export function createLookups({ db, write, log }: Pick<StoreContext, 'db' | 'write' | 'log'>): LookupLog {
  const insert = prepareQuery(db, 'INSERT INTO lookups (question, at, answer, owner) VALUES (?, ?, ?, ?)')
  const prune = prepareQuery(db, 'DELETE FROM lookups WHERE id <= (SELECT max(id) FROM lookups) - ?')
  const find = prepareQuery<{ answer: string }>(
    db,
    'SELECT answer FROM lookups WHERE question = ? AND at <= ? ORDER BY at DESC, id DESC LIMIT 1',
  )
  const known = new Map<string, string>()
  let waiting: (Omit<Lookup, 'answer'> & { readonly answer: string })[] = []
  let timer: NodeJS.Timeout | undefined

  /** After a start each answer is written once more: the table is not read for it. */
  function isNew(key: string, digest: string): boolean {
    const before = known.get(key)
    if (known.size >= maxKnown) known.clear()
    known.set(key, digest)
    return before !== digest
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    const news = waiting
    waiting = []
    try {
      await write(() => {
        for (const { key, at, answer, owner } of news) insert.run(key, at, answer, owner ?? null)
        prune.run(keptInAll)
      })
    } catch (error) {
      known.clear()
      log.warn({ err: error, count: news.length }, 'what was looked up could not be remembered')
    }
  }

  return {
    noteLookup({ answer, ...lookup }) {
      const text = formatJson(answer)
      if (text.length > maxChars || waiting.length >= maxWaiting) return
      if (!isNew(lookup.key, hash('sha256', text, 'base64'))) return
      waiting.push({ ...lookup, answer: text })
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    async findLookup(key, at) {
      await flush()
      const row = find.get(key, at)
      return row && parseJson<Json>(row.answer)
    },
    flush,
  }
}
