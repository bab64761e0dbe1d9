// Keeps the newest messages and refusals in one list that grows at both ends.
import { batch, signal } from '../../vendor/signals.js'
import { api, withQuery } from './api.js'
import { sayOutcome } from './outcome.js'

/**
 * A row of Flow.
 * @typedef {object} FeedRow
 * @property {string} key
 * @property {'message' | 'refusal'} kind
 * @property {number} number of the message, or of the refusal
 * @property {string} at ISO 8601
 * @property {string} channel
 * @property {string} sender
 * @property {boolean} isProven
 * @property {boolean} isClaimed a refusal whose request names a sender
 * @property {string} agent
 * @property {string} preview
 * @property {string} nothing the text to show without a preview
 * @property {string} what
 * @property {string} state of the message
 * @property {string} tone
 * @property {number | undefined} ms
 * @property {readonly string[]} deliveries
 * @property {boolean} isFresh it arrived after the list was first loaded
 */

/** @typedef {{ path: string, filters: readonly string[], read: (item: any) => FeedRow }} Source */

const pageSize = 200
/** The number of rows on a page of older rows, which is the gateway's limit. */
const olderSize = 500
/** The number of empty pages after which the search waits for a click. */
const mostEmpty = 5

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
  const { what, tone } = sayOutcome(item)
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
    nothing: 'no text',
    what,
    tone,
    state: item.state,
    ms: undefined,
    deliveries: [],
    isFresh: false,
  }
}

/** @param {FeedRow} row @param {any} outcome @returns {FeedRow} */
function withOutcome(row, outcome) {
  if (!outcome) return row
  const { sentence, took_ms, deliveries } = outcome
  // The row already shows the time.
  const why = sentence.replace(/ at \d\d:\d\d:\d\d UTC/, '')
  const { what, tone } = sayOutcome({ state: row.state, why, deliveries })
  return { ...row, what, tone, ms: took_ms, deliveries }
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
    nothing: 'not read',
    what: `Refused: ${item.reason}`,
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
 * @property {string} floor the instant down to which the source was searched; '' if nothing is older
 * @property {number} top the highest number that was searched; 0 if there is none
 */

/**
 * The loaded rows of a source: every row from `next` to `top`.
 * @typedef {{ source: Source, items: Map<string, FeedRow>, next: number | null, floor: string, top: number }} Track
 */

/**
 * Puts the newest page before the loaded rows, and returns the number of new rows. A row in the page's range that the page lacks was
 * deleted, or no longer matches the filter.
 * @param {Track} track
 * @param {Page} page
 * @param {boolean} isFirst
 */
function mergePage(track, page, isFirst) {
  const { next, floor } = page
  const known = track.items
  // If more rows arrived than fit on one page, scrolling loads the rows in between.
  const isKept = next !== null && next <= track.top
  const fresh = page.rows.map(row => ({ ...row, isFresh: known.get(row.key)?.isFresh ?? !isFirst }))
  const older = isKept ? [...known.values()].filter(({ number }) => number < next) : []
  track.items = new Map([...fresh, ...older].map(row => [row.key, row]))
  if (!isKept || (track.next !== null && track.next > next)) Object.assign(track, { next, floor })
  track.top = Math.max(track.top, page.top)
  return isFirst ? 0 : page.rows.filter(({ key }) => !known.has(key)).length
}

/** Appends an older page to the loaded rows. @param {Track} track @param {Page} page */
function appendPage(track, { rows, next, floor }) {
  for (const row of rows) if (!track.items.has(row.key)) track.items.set(row.key, row)
  Object.assign(track, { next, floor: earliest(floor, track.floor) })
}

/** Returns the earliest instant. Gateways' clocks differ, so loaded rows stay visible even if older rows carry later times. @param {string[]} instants */
function earliest(...instants) {
  return instants.reduce((one, other) => (one < other ? one : other))
}

/** Finds the source that is loaded least far back, because older rows of the other sources stay hidden until it catches up. @param {readonly Track[]} tracks */
function findShortest(tracks) {
  const open = tracks.filter(({ next }) => next !== null)
  return open.reduce((one, other) => (one && one.floor >= other.floor ? one : other), open[0])
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
  const lookedTo = signal('')
  let filters = first
  let round = 0
  let isLoading = false
  let isAskedAgain = false
  let isMoreAsked = false
  /** True if the last request for older pages found no row. */
  let isStuck = false
  /** @type {Track[]} */
  let tracks = []

  /** @param {Source} source @param {number | null} after @returns {Promise<Page>} */
  const ask = async (source, after) => {
    const limit = after === null ? pageSize : olderSize
    const query = Object.fromEntries(
      Object.entries(filters).map(([name, value]) => [name, /^(since|until)$/.test(name) ? readInstant(value) : value]),
    )
    const page = await api(withQuery(source.path, { limit, ...query, ...(after !== null && { after }) }))
    const rows = await explain(/** @type {any[]} */ (page.items).map(source.read))
    const found = { rows, next: page.next, floor: '', top: rows[0]?.number ?? 0 }
    if (page.next === null) return found
    const last = rows.at(-1)?.at
    if (last !== undefined && rows.length === limit) return { ...found, floor: last }
    // A page can end where no row matches, so the rows next to its ends tell how far it searched.
    const [newest, older] = await Promise.all([
      after === null ? findNewest(source, { until: query.until }) : undefined,
      findNewest(source, { after: page.next }),
    ])
    const top = Math.max(found.top, newest?.number ?? 0)
    return older ? { ...found, top, floor: earliest(older.at, last ?? older.at) } : { ...found, top, next: null }
  }

  /** Publishes the rows down to the instant to which all sources are loaded. */
  const publish = () => {
    const floor = findShortest(tracks)?.floor ?? ''
    const all = tracks.flatMap(({ items }) => [...items.values()]).filter(({ at }) => at >= floor)
    all.sort((left, right) => (left.at < right.at ? 1 : left.at > right.at ? -1 : left.key < right.key ? 1 : -1))
    batch(() => {
      rows.value = all
      lookedTo.value = isStuck || all.length === 0 ? floor : ''
    })
  }

  /** Fetches the outcomes of all messages with one request. @param {readonly FeedRow[]} page @returns {Promise<readonly FeedRow[]>} */
  const explain = async page => {
    const numbers = page.filter(({ kind }) => kind === 'message').map(({ number }) => number)
    if (numbers.length === 0) return page
    const { outcomes } = await api(withQuery('/operator/api/outcomes', { messages: numbers.join() }))
    const found = new Map(/** @type {any[]} */ (outcomes).map(each => [each.message, each]))
    return page.map(row => (row.kind === 'message' ? withOutcome(row, found.get(row.number)) : row))
  }

  /** @param {() => Promise<void>} work */
  const load = async work => {
    if (isLoading) {
      isAskedAgain = true
      return
    }
    isLoading = true
    const own = round
    const problem = await work().catch(reason => (reason instanceof Error ? reason : new Error(String(reason))))
    isLoading = false
    if (own === round) {
      error.value = problem ?? undefined
      isLoaded.value = true
    }
    askAgain()
  }

  /** Performs a load that was requested during the last one. */
  const askAgain = () => {
    const next = isMoreAsked && !isAskedAgain ? more : isAskedAgain ? refresh : undefined
    if (next === refresh) isAskedAgain = false
    else isMoreAsked = false
    void next?.()
  }

  /** Loads the newest page again, with new rows and the current states of the others. */
  const refresh = () =>
    load(async () => {
      const own = round
      const isFirst = !isLoaded.value
      const pages = await Promise.all(tracks.map(track => ask(track.source, null)))
      if (own !== round) return
      const floors = tracks.map(({ floor }) => floor).join()
      const counts = tracks.map((track, at) => mergePage(track, /** @type {Page} */ (pages[at]), isFirst))
      isStuck &&= floors === tracks.map(({ floor }) => floor).join()
      batch(() => {
        publish()
        unseen.value += counts.reduce((sum, count) => sum + count, 0)
      })
      if (isFirst && rows.value.length === 0) await lookBack()
    })

  /** Loads older pages until one has a matching row, or until too many are empty. */
  const lookBack = async () => {
    const own = round
    const before = rows.value.length
    for (let count = 0; count < mostEmpty && rows.value.length <= before; count += 1) {
      const track = findShortest(tracks)
      if (!track) break
      const page = await ask(track.source, track.next)
      if (own !== round) return
      appendPage(track, page)
      publish()
    }
    isStuck = rows.value.length <= before
    publish()
  }

  /** Loads older rows. */
  const more = () => {
    if (tracks.every(({ next }) => next === null)) return
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
    lookedTo,
    refresh,
    /** Starts over with other filters. @param {Record<string, string>} next */
    open(next) {
      round += 1
      filters = next
      const asked = Object.keys(next)
      tracks = sources
        .filter(source => asked.every(name => source.filters.includes(name)))
        .map(source => ({ source, items: new Map(), next: null, floor: '', top: 0 }))
      isStuck = false
      isLoaded.value = false
      rows.value = []
      lookedTo.value = ''
      unseen.value = 0
      return refresh()
    },
    more,
  }
}
