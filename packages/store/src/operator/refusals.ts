import type { ChannelName, IntakeStore, OperatorStore, Refusal, RefusalPage } from '@postern/core'
import type { Batch } from '../engine/database.ts'
import { addToTotal, noteChange, prepareInsert, readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

export interface Refusals extends Pick<IntakeStore, 'refuse'>, Pick<OperatorStore, 'listRefusals'> {
  /** Refused since the last flush, whether kept or not. */
  pending(): number
  /** All that was refused before is in the table when it resolves, whoever began to write it. */
  flush(): Promise<void>
}

/** A flood of bad traffic must cost less than the traffic itself: few are kept, and they are written together. */
const keptPerSecond = 50
const keptInAll = 10_000
const flushMs = 250

export interface RefusalRow extends Pick<Refusal, 'at' | 'code' | 'reason'> {
  readonly id: number
  readonly channel: ChannelName
  readonly peer: string
  readonly endpoint: string | null
  readonly status: number | null
  readonly claimed_sender: string | null
  readonly agent: string | null
  readonly peer_id: string | null
}

const columns = 'at, channel, peer, code, reason, endpoint, status, claimed_sender, agent, peer_id'

/** Longest text that is kept of what a request says of itself, UTF-16 code units. */
const maxChars = 300

export function createRefusals({ db, write, now, log }: StoreContext): Refusals {
  const insert = prepareInsert(db, `INSERT INTO refusals (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const prune = db.prepare('DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ?')
  const list = db.prepare<RefusalRow>(
    `SELECT id, ${columns} FROM refusals WHERE id < ?1 AND id >= ?2 AND (agent = ?3 OR ?3 IS NULL) AND (channel = ?4 OR ?4 IS NULL)
       AND (code = ?5 OR ?5 IS NULL) AND (at >= ?6 OR ?6 IS NULL) AND (at < ?7 OR ?7 IS NULL)
       AND (instr(lower(coalesce(claimed_sender, '') || ' ' || peer), lower(?8)) > 0 OR ?8 IS NULL)
       AND (instr(lower(reason), lower(?9)) > 0 OR ?9 IS NULL) ORDER BY id DESC LIMIT +?10`,
  )
  const mayKeep = createSecondLimit(keptPerSecond, now)
  let buffer: Refusal[] = []
  let refused = 0
  let timer: NodeJS.Timeout | undefined

  async function keepAll(kept: readonly Refusal[], count: number): Promise<void> {
    try {
      const insertAll = (batch: Batch) => {
        for (const refusal of kept) noteChange(batch, 'refusal', insert(...columnValues(refusal)))
        prune.run(keptInAll)
        addToTotal(batch, 'refusals', count)
      }
      await write(insertAll, { touches: () => ['refusals'] })
    } catch (error) {
      log.warn({ err: error, count }, 'refusals could not be remembered')
    }
  }

  let writing: Promise<unknown> = Promise.resolve()

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (refused > 0) writing = Promise.all([writing, keepAll(buffer, refused)]).then(() => undefined)
    buffer = []
    refused = 0
    await writing
  }

  return {
    refuse(refusal) {
      refused += 1
      if (mayKeep()) buffer.push(refusal)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    pending: () => refused,
    flush,
    async listRefusals(page) {
      await flush()
      return readAfterWait(db, () => list.all(...filterValues(page)).map(toRefusal))
    },
  }
}

function filterValues({ limit, after, floor, agent, channel, code, since, until, sender, text }: RefusalPage) {
  const words = [agent, channel, code, since, until, sender, text].map(value => value ?? null)
  return [after ?? Number.MAX_SAFE_INTEGER, floor ?? 0, ...words, limit]
}

function columnValues(refusal: Refusal) {
  const { at, via, from, code, reason, status = null } = refusal
  const texts = [refusal.claimed_sender, refusal.agent, refusal.peer_id].map(clip)
  return [at, via, clip(from) ?? '', code, clip(reason) ?? '', clip(refusal.endpoint), status, ...texts] as const
}

function clip(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, maxChars).toWellFormed()
}

export function toRefusal(row: RefusalRow): Refusal & { readonly place: number } {
  const { id, at, channel, peer, code, reason, endpoint, status, claimed_sender, agent, peer_id } = row
  return {
    at,
    via: channel,
    from: peer,
    code,
    reason,
    ...(endpoint !== null && { endpoint }),
    ...(status !== null && { status }),
    ...(claimed_sender !== null && { claimed_sender }),
    ...(agent !== null && { agent }),
    ...(peer_id !== null && { peer_id }),
    place: id,
  }
}

function createSecondLimit(perSecond: number, now: () => number): () => boolean {
  let second = 0
  let taken = 0
  return () => {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      taken = 0
    }
    taken += 1
    return taken <= perSecond
  }
}
