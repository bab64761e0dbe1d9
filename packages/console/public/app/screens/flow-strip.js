import { span } from '../lib/format.js'
import { html } from '../lib/html.js'
import { nameChannel } from '../parts/badges.js'
import { Spark } from '../parts/spark.js'

const channels = ['activitypub', 'a2a', 'email', 'web']
const bucketMs = 5 * 60_000
const buckets = 12
const hourMs = bucketMs * buckets

/**
 * Rate and latency of each channel in the last hour, of the rows that are loaded; a click filters by it.
 * @param {{ rows: readonly import('../lib/feed.js').FeedRow[], filters: Record<string, string>, change: (filters: Record<string, string>) => void }} props
 */
export function Strip({ rows, filters, change }) {
  const now = Date.now()
  const recent = rows.filter(({ at }) => now - Date.parse(at) < hourMs)
  return html`<div class="strip">
    ${channels.map(name => {
      const own = recent.filter(({ channel }) => channel === name)
      const { counts, spans, p95 } = measure(own, now)
      const isOnly = filters.channel === name
      const { channel: _, ...others } = filters
      return html`<button
        key=${name}
        type="button"
        aria-pressed=${isOnly}
        onClick=${() => change(isOnly ? others : { ...others, channel: name })}
        title=${isOnly ? 'Show all channels' : `Show only ${nameChannel(name)}`}
      >
        <span class="figures">
          <small class=${`chan ${name}`}>${nameChannel(name)}</small>
          <span>
            <b>${own.length.toLocaleString('en')}</b>
            <small class="detail">/h${p95 === undefined ? '' : ` · p95 ${span(p95)}`}</small>
          </span>
        </span>
        <span class=${`chan-line ${name}`} style=${{ color: `var(--${name})` }}>
          <${Spark} counts=${counts} spans=${spans} label=${`${nameChannel(name)}: messages and time taken over the last hour`} />
        </span>
      </button>`
    })}
  </div>`
}

/** @param {readonly import('../lib/feed.js').FeedRow[]} rows @param {number} now */
function measure(rows, now) {
  const counts = Array(buckets).fill(0)
  const spans = Array(buckets).fill(0)
  const all = []
  for (const { at, ms } of rows) {
    const bucket = buckets - 1 - Math.min(buckets - 1, Math.max(0, Math.floor((now - Date.parse(at)) / bucketMs)))
    counts[bucket] += 1
    if (ms === undefined) continue
    spans[bucket] = Math.max(spans[bucket], ms)
    all.push(ms)
  }
  all.sort((left, right) => left - right)
  return { counts, spans, p95: all[Math.ceil(all.length * 0.95) - 1] }
}
