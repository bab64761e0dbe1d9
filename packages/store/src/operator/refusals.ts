// Stores refused messages for operators.
import type { ChannelName } from '@postern/message'
import type { IntakeStore, OperatorStore, Refusal, RefusalPage } from '@postern/pipeline'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { TotalName } from '../transaction/totals.ts'
import { addToTotal } from '../transaction/totals.ts'

export interface Refusals extends Pick<IntakeStore, 'refuse'>, Pick<OperatorStore, 'listRefusals'> {
  /** Counts the refusals since the last flush, including those that are not stored. */
  countPending(): number
  /** Writes all buffered refusals. Resolves when they are in the table, together with those of earlier flushes. */
  flush(): Promise<void>
}

/**
 * The maximum number of refusals that are stored per second for each channel and code. Storing a flood of bad requests must cost less than the requests
 * themselves. A flood of one kind does not hide refusals of another kind.
 */
export const maxStoredPerSecond = 50
const maxRows = 10_000
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

/** The maximum length of a stored text in UTF-16 code units. The sender of a refused request controls these texts. */
const maxChars = 300

export function createRefusals({ db, write, now, log }: StoreContext): Refusals {
  const insert = db.prepareInsert(`INSERT INTO refusals (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const prune = db.prepare('DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ?')
  const list = db.prepare<RefusalRow>(
    `SELECT id, ${columns} FROM refusals WHERE id < ?1 AND id >= ?2 AND (agent = ?3 OR ?3 IS NULL) AND (channel = ?4 OR ?4 IS NULL)
       AND (code = ?5 OR ?5 IS NULL) AND (at >= ?6 OR ?6 IS NULL) AND (at < ?7 OR ?7 IS NULL)
       AND (instr(lower(coalesce(claimed_sender, '') || ' ' || peer), lower(?8)) > 0 OR ?8 IS NULL)
       AND (instr(lower(reason), lower(?9)) > 0 OR ?9 IS NULL) ORDER BY id DESC LIMIT +?10`,
  )
  const mayStore = createSecondLimits(maxStoredPerSecond, now)
  let buffer: Refusal[] = []
  let pendingCounts = new Map<TotalName, number>()
  let timer: NodeJS.Timeout | undefined

  async function storeAll(refusals: readonly Refusal[], counts: ReadonlyMap<TotalName, number>): Promise<void> {
    const count = sumCounts(counts)
    try {
      function* insertAll(batch: Batch) {
        for (const refusal of refusals) noteChange(batch, 'refusal', yield* insert(...columnValues(refusal)))
        prune.run(maxRows)
        addToTotal(batch, 'refusals', count)
        for (const [name, amount] of counts) addToTotal(batch, name, amount)
      }
      await write(insertAll, { conflictKeys: () => ['refusals'] })
    } catch (error) {
      log.warn({ err: error, count }, 'refusals could not be stored')
    }
  }

  let lastWrite: Promise<unknown> = Promise.resolve()

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (pendingCounts.size > 0)
      lastWrite = Promise.all([lastWrite, storeAll(buffer, pendingCounts)]).then(() => undefined)
    buffer = []
    pendingCounts = new Map()
    await lastWrite
  }

  return {
    refuse(refusal) {
      const name = `refusals.${refusal.via}.${refusal.code}` as const
      pendingCounts.set(name, (pendingCounts.get(name) ?? 0) + 1)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
      const isStored = mayStore(name)
      if (isStored) buffer.push(refusal)
      return isStored
    },
    countPending: () => sumCounts(pendingCounts),
    flush,
    async listRefusals(page) {
      await flush()
      return db.read(function* () {
        return (yield* list.all(...filterValues(page))).map(toRefusal)
      })
    },
  }
}

function filterValues({ limit, after, floor, agent, channel, code, since, until, sender, text }: RefusalPage) {
  const filterValuesInOrder = [agent, channel, code, since, until, sender, text].map(value => value ?? null)
  return [after ?? Number.MAX_SAFE_INTEGER, floor ?? 0, ...filterValuesInOrder, limit]
}

function columnValues(refusal: Refusal) {
  const { at, via, from, code, reason, status = null } = refusal
  const texts = [refusal.claimed_sender, refusal.agent, refusal.peer_id].map(clip)
  return [at, via, clip(from) ?? '', code, clip(reason) ?? '', clip(refusal.endpoint), status, ...texts] as const
}

function clip(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, maxChars).toWellFormed()
}

export function toRefusal(row: RefusalRow): Refusal & { readonly number: number } {
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
    number: id,
  }
}

function sumCounts(counts: ReadonlyMap<unknown, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}

/** Creates a limit for each name and second. There are few names, because a name consists of a channel and a code. */
function createSecondLimits(perSecond: number, now: () => number): (name: string) => boolean {
  const storedByName = new Map<string, number>()
  let second = 0
  return name => {
    const currentSecond = Math.floor(now() / 1000)
    if (currentSecond !== second) {
      second = currentSecond
      storedByName.clear()
    }
    const count = (storedByName.get(name) ?? 0) + 1
    storedByName.set(name, count)
    return count <= perSecond
  }
}
