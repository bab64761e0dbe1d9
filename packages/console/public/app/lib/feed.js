// Keeps the newest messages and refusals in one list that grows at both ends.
import { batch, signal } from '../../vendor/signals.js'
import { api, withQuery } from './api.js'
import { describeOutcome } from './outcome.js'

/**
 * A row of Flow.
 * @typedef {object} FeedRow
 * @property {string} key
 * @property {'message' | 'refusal'} kind
 * @property {number} number the message's or the refusal's number
 * @property {string} at ISO 8601
 * @property {string} channel
 * @property {string} sender
 * @property {boolean} isProven
 * @property {boolean} isClaimed true for a refusal whose request names a sender
 * @property {string} agent
 * @property {string} preview
 * @property {string} emptyText the text to show without a preview
 * @property {string} outcome
 * @property {string} state the state of the message
 * @property {string} tone
 * @property {number | undefined} ms
 * @property {readonly string[]} deliveries
 * @property {boolean} isFresh true if it arrived after the list was first loaded
 */

/** @typedef {{ path: string, filters: readonly string[], read: (item: any) => FeedRow }} Source */

const pageSize = 200
/** The number of rows on a page of older rows, which is the gateway's limit. */
const olderPageSize = 500
/** The number of empty pages after which the search waits for a click. */
const maxEmptyPages = 5

/** @type {readonly Source[]} */
const sources = [
  {
    path: '/operator/api/messages',
    filters: ['agent', 'channel', 'state', 'sender', 'flag', 'since', 'until', 'text'],
    read: readMessage,
  },
  {
    path: '/operator/api/refusals',
    filters: ['agent', 'channel', 'sender', 'code', 'since', 'until', 'text'],
    read: readRefusal,
  },
]

/** @param {any} item @returns {FeedRow} */
function readMessage(item) {
  const { outcome, tone } = describeOutcome(item)
  return {
    key: `m${item.message}`,
    kind: 'message',
    number: item.message,
    at: item.received_at,
    channel: item.via,
    sender: item.sender,
    isProven: item.verified,
    isClaimed: false,
    agent: item.agent,
    preview: item.preview,
    emptyText: 'no text',
    outcome,
    tone,
    state: item.state,
    ms: undefined,
    deliveries: [],
    isFresh: false,
  }
}

/** @param {FeedRow} row @param {any} details @returns {FeedRow} */
function withOutcome(row, details) {
  if (!details) return row
  const { sentence, took_ms, deliveries } = details
  // The row already shows the time.
  const why = sentence.replace(/ at \d\d:\d\d:\d\d UTC/, '')
  const { outcome, tone } = describeOutcome({ state: row.state, why, deliveries })
  return { ...row, outcome, tone, ms: took_ms, deliveries }
}

/** @param {any} item @returns {FeedRow} */
function readRefusal(item) {
  return {
    key: `r${item.number}`,
    kind: 'refusal',
    number: item.number,
    at: item.at,
    channel: item.via,
    sender: item.claimed_sender ?? item.from,
    isProven: false,
    isClaimed: item.claimed_sender !== undefined,
    agent: item.agent ?? '',
    preview: '',
    emptyText: 'not read',
    outcome: `Refused: ${item.reason}`,
    state: 'refused',
    tone: /^(signature_invalid|signer_mismatch|replayed|expired|unsigned)$/.test(item.code) ? 'bad' : 'warn',
    ms: undefined,
    deliveries: [],
    isFresh: false,
  }
}

/** Converts `1h`, `30m` or `7d` into an instant that long ago, and returns any other text unchanged. @param {string} text */
export function readInstant(text) {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined || unit === undefined) return text
  const ms = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit] ?? 0
  return new Date(Date.now() - Number(count) * ms).toISOString()
}

/**
 * The result of one request to a source: every row from `next` on.
 * @typedef {object} Page
 * @property {readonly FeedRow[]} rows
 * @property {number | null} next
 * @property {string} searchedTo the instant down to which the source was searched; '' if nothing is older
 * @property {number} newest the highest number that was searched; 0 if there is none
 */

/**
 * The loaded rows of a source: every row from `next` to `newest`.
 * @typedef {{ source: Source, items: Map<string, FeedRow>, next: number | null, searchedTo: string, newest: number }} LoadedRange
 */

/**
 * Puts the newest page before the loaded rows, and returns the number of new rows. A row in the page's range that the page lacks was
 * deleted, or no longer matches the filter.
 * @param {LoadedRange} range
 * @param {Page} page
 * @param {boolean} isFirst
 */
function mergePage(range, page, isFirst) {
  const { next, searchedTo } = page
  const loadedRows = range.items
  // If more rows arrived than fit on one page, scrolling loads the rows in between.
  const isKept = next !== null && next <= range.newest
  const fresh = page.rows.map(row => ({ ...row, isFresh: loadedRows.get(row.key)?.isFresh ?? !isFirst }))
  const older = isKept ? [...loadedRows.values()].filter(({ number }) => number < next) : []
  range.items = new Map([...fresh, ...older].map(row => [row.key, row]))
  if (!isKept || (range.next !== null && range.next > next)) Object.assign(range, { next, searchedTo })
  range.newest = Math.max(range.newest, page.newest)
  return isFirst ? 0 : page.rows.filter(({ key }) => !loadedRows.has(key)).length
}

/** Appends an older page to the loaded rows. @param {LoadedRange} range @param {Page} page */
function appendPage(range, { rows, next, searchedTo }) {
  for (const row of rows) if (!range.items.has(row.key)) range.items.set(row.key, row)
  Object.assign(range, { next, searchedTo: earliest(searchedTo, range.searchedTo) })
}

/** Returns the earliest instant. Gateways' clocks differ, so loaded rows stay visible even if older rows carry later times. @param {string[]} instants */
function earliest(...instants) {
  return instants.reduce((one, other) => (one < other ? one : other))
}

/** Finds the source that is loaded least far back, because older rows of the other sources stay hidden until it catches up. @param {readonly LoadedRange[]} ranges */
function findShortest(ranges) {
  const unfinished = ranges.filter(({ next }) => next !== null)
  return unfinished.reduce((one, other) => (one && one.searchedTo >= other.searchedTo ? one : other), unfinished[0])
}

/** @param {Source} source @param {Record<string, string | number | undefined>} query @returns {Promise<FeedRow | undefined>} */
async function findNewest(source, query) {
  const { items } = await api(withQuery(source.path, { limit: 1, ...query }))
  return /** @type {any[]} */ (items).map(source.read)[0]
}

/**
 * Keeps messages and refusals as one list, newest first. A source's row appears only once the other source is loaded as far back, so that
 * no older row is inserted later.
 * @param {Record<string, string>} first
 */
export function createFeed(first) {
  const rows = signal(/** @type {readonly FeedRow[]} */ ([]))
  const unseen = signal(0)
  const isLoaded = signal(false)
  const error = signal(/** @type {Error | undefined} */ (undefined))
  const emptyDownTo = signal('')
  let filters = first
  let round = 0
  let isLoading = false
  let isAskedAgain = false
  let isMoreAsked = false
  /** True if the last request for older pages found no row. */
  let isStuck = false
  /** @type {LoadedRange[]} */
  let ranges = []

  /** @param {Source} source @param {number | null} after @returns {Promise<Page>} */
  const fetchPage = async (source, after) => {
    const limit = after === null ? pageSize : olderPageSize
    const query = Object.fromEntries(
      Object.entries(filters).map(([name, value]) => [name, /^(since|until)$/.test(name) ? readInstant(value) : value]),
    )
    const page = await api(withQuery(source.path, { limit, ...query, ...(after !== null && { after }) }))
    const rows = await explain(/** @type {any[]} */ (page.items).map(source.read))
    const result = { rows, next: page.next, searchedTo: '', newest: rows[0]?.number ?? 0 }
    if (page.next === null) return result
    const last = rows.at(-1)?.at
    if (last !== undefined && rows.length === limit) return { ...result, searchedTo: last }
    // A page can end where no row matches, so the rows next to its ends tell how far it searched.
    const [newestRow, older] = await Promise.all([
      after === null ? findNewest(source, { until: query.until }) : undefined,
      findNewest(source, { after: page.next }),
    ])
    const newest = Math.max(result.newest, newestRow?.number ?? 0)
    return older
      ? { ...result, newest, searchedTo: earliest(older.at, last ?? older.at) }
      : { ...result, newest, next: null }
  }

  /** Publishes the rows down to the instant to which all sources are loaded. */
  const publish = () => {
    const searchedTo = findShortest(ranges)?.searchedTo ?? ''
    const loadedRows = ranges.flatMap(({ items }) => [...items.values()]).filter(({ at }) => at >= searchedTo)
    loadedRows.sort((left, right) => (left.at < right.at ? 1 : left.at > right.at ? -1 : left.key < right.key ? 1 : -1))
    batch(() => {
      rows.value = loadedRows
      emptyDownTo.value = isStuck || loadedRows.length === 0 ? searchedTo : ''
    })
  }

  /** Fetches the outcomes of all messages with one request. @param {readonly FeedRow[]} page @returns {Promise<readonly FeedRow[]>} */
  const explain = async page => {
    const numbers = page.filter(({ kind }) => kind === 'message').map(({ number }) => number)
    if (numbers.length === 0) return page
    const { outcomes } = await api(withQuery('/operator/api/outcomes', { messages: numbers.join() }))
    const outcomesByNumber = new Map(/** @type {any[]} */ (outcomes).map(each => [each.message, each]))
    return page.map(row => (row.kind === 'message' ? withOutcome(row, outcomesByNumber.get(row.number)) : row))
  }

  /** @param {() => Promise<void>} work */
  const load = async work => {
    if (isLoading) {
      isAskedAgain = true
      return
    }
    isLoading = true
    const startedRound = round
    const problem = await work().catch(reason => (reason instanceof Error ? reason : new Error(String(reason))))
    isLoading = false
    if (startedRound === round) {
      error.value = problem ?? undefined
      isLoaded.value = true
    }
    runPending()
  }

  /** Performs a load that was requested during the last one. */
  const runPending = () => {
    const next = isMoreAsked && !isAskedAgain ? loadOlder : isAskedAgain ? refresh : undefined
    if (next === refresh) isAskedAgain = false
    else isMoreAsked = false
    void next?.()
  }

  /** Loads the newest page again, with new rows and the current states of the others. */
  const refresh = () =>
    load(async () => {
      const startedRound = round
      const isFirst = !isLoaded.value
      const pages = await Promise.all(ranges.map(range => fetchPage(range.source, null)))
      if (startedRound !== round) return
      const searchedInstants = ranges.map(({ searchedTo }) => searchedTo).join()
      const counts = ranges.map((range, at) => mergePage(range, /** @type {Page} */ (pages[at]), isFirst))
      isStuck &&= searchedInstants === ranges.map(({ searchedTo }) => searchedTo).join()
      batch(() => {
        publish()
        unseen.value += counts.reduce((sum, count) => sum + count, 0)
      })
      if (isFirst && rows.value.length === 0) await lookBack()
    })

  /** Loads older pages until one has a matching row, or until too many are empty. */
  const lookBack = async () => {
    const startedRound = round
    const countBefore = rows.value.length
    for (let count = 0; count < maxEmptyPages && rows.value.length <= countBefore; count += 1) {
      const range = findShortest(ranges)
      if (!range) break
      const page = await fetchPage(range.source, range.next)
      if (startedRound !== round) return
      appendPage(range, page)
      publish()
    }
    isStuck = rows.value.length <= countBefore
    publish()
  }

  /** Loads older rows. */
  const loadOlder = () => {
    if (ranges.every(({ next }) => next === null)) return
    if (isLoading) {
      isMoreAsked = true
      return
    }
    void load(lookBack)
  }

  return {
    rows,
    unseen,
    isLoaded,
    error,
    /**
     * The instant down to which the search found nothing, if older rows may exist. It is '' if none can exist or if scrolling loads them.
     */
    emptyDownTo,
    refresh,
    /** Starts over with other filters. @param {Record<string, string>} next */
    open(next) {
      round += 1
      filters = next
      const filterNames = Object.keys(next)
      ranges = sources
        .filter(source => filterNames.every(name => source.filters.includes(name)))
        .map(source => ({ source, items: new Map(), next: null, searchedTo: '', newest: 0 }))
      isStuck = false
      isLoaded.value = false
      rows.value = []
      emptyDownTo.value = ''
      unseen.value = 0
      return refresh()
    },
    loadOlder,
  }
}
