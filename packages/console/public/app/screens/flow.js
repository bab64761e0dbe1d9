// Shows all messages and refusals as they arrive.
import { useEffect, useRef } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import { createFeed } from '../lib/feed.js'
import { formatClock, formatDuration, formatInstant, shortenToLine } from '../lib/format.js'
import { html } from '../lib/html.js'
import { useKeys } from '../lib/keys.js'
import { connection, onChange } from '../lib/live.js'
import { linkTo, navigateTo, replace, route } from '../lib/router.js'
import { Channel, DeliveryDots, Proven } from '../parts/badges.js'
import { Empty, Problem } from '../parts/empty.js'
import { Search } from '../parts/search.js'
import { VirtualList } from '../parts/virtual-list.js'
import { Strip } from './flow-strip.js'

/** @typedef {import('../lib/feed.js').FeedRow} FeedRow */

/** Shows messages and refusals in one list, as they arrive. @param {{ status: any }} props */
export function Flow({ status }) {
  const filters = Object.fromEntries(route.value.query)
  const feed = useSignal(createFeed(filters)).value
  const isHeld = useSignal(false)
  const selected = useSignal(/** @type {string | undefined} */ (undefined))
  const controls = useRef(/** @type {import('../parts/virtual-list.js').ListControls | null} */ (null))
  const asked = JSON.stringify(filters)

  useEffect(() => {
    feed.open(filters)
    selected.value = undefined
    controls.current?.toTop()
  }, [asked])
  useEffect(() => {
    if (isHeld.value) return undefined
    feed.refresh()
    return onChange(['message', 'refusal', 'turn', 'delivery', 'requirement'], feed.refresh)
  }, [isHeld.value])

  const rows = feed.rows.value
  /** @param {number} step */
  const move = step => {
    if (rows.length === 0) return
    const at = rows.findIndex(row => row.key === selected.value)
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))]
    if (!next) return
    selected.value = next.key
    controls.current?.show(rows.indexOf(next))
    // A visible row gets the focus at once, so that Enter opens the marked row. Any other row gets it after the next frame.
    controls.current?.focus(next.key)
    requestAnimationFrame(() => controls.current?.focus(next.key))
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ' ': () => {
      isHeld.value = !isHeld.value
    },
    Enter: () => {
      const row = rows.find(each => each.key === selected.value)
      if (row) navigateTo(linkOf(row))
    },
  })
  /** @param {Record<string, string>} next */
  const filter = next => replace(linkTo('flow', { query: next }))
  useEffect(() => {
    if (controls.current?.isAtTop()) feed.unseen.value = 0
  }, [rows])
  const unseen = feed.unseen.value
  const emptyDownTo = feed.emptyDownTo.value
  return html`
    <header class="bar">
      <h1>Flow</h1>
      <${Search} filters=${filters} change=${filter} />
      <${Live} isHeld=${isHeld.value} />
      <button class="btn" type="button" aria-pressed=${isHeld.value} onClick=${() => (isHeld.value = !isHeld.value)}>
        ${isHeld.value ? 'Resume' : 'Hold'} <kbd>space</kbd>
      </button>
      ${status?.dev && html`<a class="btn primary" href=${linkTo('compose')}>Compose <kbd>c</kbd></a>`}
    </header>
    <${Strip} filters=${filters} change=${filter} />
    <div class="cols head" aria-hidden="true">
      <span>time</span><span>channel</span><span>sender</span><span class="optional">agent</span
      ><span class="optional">message</span><span>what happened</span><span class="num">took</span><span class="num">sent</span>
    </div>
    <div class="list-frame">
      ${
        unseen > 0 &&
        html`<button
          class="btn primary small more-above"
          type="button"
          onClick=${() => {
            controls.current?.toTop()
            feed.unseen.value = 0
          }}
        >
          ${unseen} new above
        </button>`
      }
      ${feed.error.value && html`<div class="page"><${Problem} error=${feed.error.value} retry=${feed.refresh} /></div>`}
      ${
        rows.length > 0
          ? html`<${VirtualList}
              rows=${rows}
              keyOf=${(/** @type {FeedRow} */ row) => row.key}
              label="What came, newest first"
              controls=${controls}
              nearEnd=${emptyDownTo === '' ? feed.loadOlder : undefined}
              reachTop=${() => (feed.unseen.value = 0)}
              render=${(/** @type {FeedRow} */ row) => html`<${Row} row=${row} isSelected=${row.key === selected.value} select=${() => (selected.value = row.key)} />`}
            />`
          : feed.isLoaded.value &&
            !feed.error.value &&
            emptyDownTo === '' &&
            html`<${Nothing} isFiltered=${asked !== '{}'} status=${status} />`
      }
      ${feed.isLoaded.value && !feed.error.value && emptyDownTo !== '' && html`<${LookFurther} to=${emptyDownTo} go=${feed.loadOlder} />`}
    </div>
  `
}

/** Asks whether to search further back after many pages without a match. @param {{ to: string, go: () => void }} props */
function LookFurther({ to, go }) {
  return html`<p class="look-further">
    <span role="status">Looked back to <time datetime=${to}>${formatInstant(to)}</time>.</span>
    <button class="btn small" type="button" onClick=${go}>Look further</button>
  </p>`
}

/** @param {{ isHeld: boolean }} props */
function Live({ isHeld }) {
  if (isHeld) return html`<span class="live muted"><span class="dot hollow"></span>held</span>`
  if (connection.value === 'live') return html`<span class="live good"><span class="dot"></span>live</span>`
  const words = connection.value === 'lost' ? 'reconnecting' : 'connecting'
  return html`<span class="live warn"><span class="dot hollow"></span>${words}</span>`
}

/** @param {FeedRow} row */
function linkOf(row) {
  return row.kind === 'message'
    ? linkTo('message', { subject: row.number })
    : linkTo('refusal', { subject: row.number })
}

/** @param {{ row: FeedRow, isSelected: boolean, select: () => void }} props */
function Row({ row, isSelected, select }) {
  const name = `cols ${row.kind === 'refusal' ? 'refused' : ''} ${row.isFresh ? 'fresh' : ''}`
  return html`<a
    class=${name}
    href=${linkOf(row)}
    aria-current=${isSelected ? 'true' : undefined}
    onFocus=${select}
    draggable=${false}
  >
    <time class="at muted" datetime=${row.at}>${formatClock(row.at)}</time>
    <${Channel} name=${row.channel} />
    <span class="who">
      <span>${shortenToLine(row.sender)}</span>
      ${row.kind === 'message' ? html`<${Proven} verified=${row.isProven} />` : row.isClaimed && html`<span class="badge warn">claimed</span>`}
    </span>
    <span class="optional">${row.agent}</span>
    <span class=${`optional ${row.preview === '' ? 'faint' : ''}`}>${row.preview === '' ? row.emptyText : shortenToLine(row.preview)}</span>
    <span class=${`what ${row.tone}`}>${shortenToLine(row.outcome)}</span>
    <span class="num muted">${row.ms === undefined ? '' : formatDuration(row.ms)}</span>
    <${DeliveryDots} states=${row.deliveries} />
  </a>`
}

/** @param {{ isFiltered: boolean, status: any }} props */
function Nothing({ isFiltered, status }) {
  if (isFiltered)
    return html`<${Empty} title="Nothing fits these filters">
      <p>Take one away, or look further back with <code>since:7d</code>.</p>
      <a class="btn" href=${linkTo('flow')}>Show everything</a>
    <//>`
  return html`<${Empty} title="Nothing has come yet">
    <p>Rows appear here as messages arrive, by whichever channel.</p>
    ${
      status?.dev
        ? html`<p>Send one yourself: signed by a simulated server, or forged.</p>
            <a class="btn primary" href=${linkTo('compose')}>Compose a message</a>`
        : html`<p>Write to one of your agents from the fediverse, by mail or by A2A, or look whether they can be reached.</p>
            <a class="btn primary" href=${linkTo('go-live')}>Check that you can be reached</a>`
    }
  <//>`
}
