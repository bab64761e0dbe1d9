// Shows the rate and latency of each channel in the last hour.
import { useEffect } from '../../vendor/hooks.js'
import { formatDuration } from '../lib/format.js'
import { html } from '../lib/html.js'
import { useAnswer } from '../lib/load.js'
import { nameChannel } from '../parts/badges.js'
import { Spark } from '../parts/spark.js'

const channels = ['activitypub', 'a2a', 'email', 'web']
/** The time between two loads, ms, because the hour advances even without messages. */
const refreshMs = 30_000
/** The least time between two loads of the figures, ms, for a busy gateway. */
const restMs = 2_000

/** @typedef {{ messages: number, p95_ms?: number }} Span */

/**
 * Draws rate and latency of each channel in the last hour, as the gateway counts them. A click filters by the channel.
 * @param {{ filters: Record<string, string>, change: (filters: Record<string, string>) => void }} props
 */
export function Strip({ filters, change }) {
  const { answer, refresh } = useAnswer('/operator/api/rates', ['message', 'turn'], restMs)
  useEffect(() => {
    const timer = setInterval(refresh, refreshMs)
    return () => clearInterval(timer)
  }, [])
  return html`<div class="strip">
    ${channels.map(name => {
      const figures = answer?.channels.find((/** @type {any} */ { channel }) => channel === name)
      const spans = /** @type {readonly Span[]} */ (figures?.spans ?? [])
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
            <b>${figures === undefined ? '–' : figures.per_hour.toLocaleString('en')}</b>
            <small class="detail">/h${figures?.p95_ms === undefined ? '' : ` · p95 ${formatDuration(figures.p95_ms)}`}</small>
          </span>
        </span>
        <span class=${`chan-line ${name}`} style=${{ color: `var(--${name})` }}>
          <${Spark}
            counts=${spans.map(({ messages }) => messages)}
            spans=${spans.map(({ p95_ms = 0 }) => p95_ms)}
            label=${`${nameChannel(name)}: messages and time taken over the last hour`}
          />
        </span>
      </button>`
    })}
  </div>`
}
