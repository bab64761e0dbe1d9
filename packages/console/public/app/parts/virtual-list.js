// Renders only the visible rows of a long list, and keeps its position when rows are added above.
import { useLayoutEffect, useRef } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import { html } from '../lib/html.js'

const overscan = 8

/**
 * Shows a list with only its visible rows in the page. All rows have the same height, `--row` of the stylesheet. Rows added above the first
 * visible row do not move the text that somebody reads.
 * @template Row
 * @param {{
 *   rows: readonly Row[], keyOf: (row: Row) => string, render: (row: Row, at: number) => any, label: string,
 *   nearEnd?: () => void, reachTop?: () => void, controls?: { current: ListControls | null }
 * }} props
 */
export function VirtualList({ rows, keyOf, render, label, nearEnd, reachTop, controls }) {
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null))
  const view = useSignal({ top: 0, height: 800, row: 36 })
  const anchor = useRef(/** @type {{ key: string, at: number } | null} */ (null))

  const measure = () => {
    const element = frame.current
    if (!element) return
    const row = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 36
    const { scrollTop: top, clientHeight: height } = element
    const before = view.value
    if (top < row) {
      reachTop?.()
      letGo(element)
    }
    if (before.top !== top || before.height !== height || before.row !== row) view.value = { top, height, row }
  }

  useLayoutEffect(() => {
    measure()
    const element = frame.current
    if (!element) return undefined
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    return () => watch.disconnect()
  }, [])

  // The first visible row stays first, however many rows were added above it.
  useLayoutEffect(() => {
    const element = frame.current
    const held = anchor.current
    const { row } = view.value
    // At the top, new rows may move the list, unless somebody is about to click one.
    if (element && held && (element.scrollTop > 0 || element.matches(':hover, :focus-within'))) {
      const at = rows.findIndex(each => keyOf(each) === held.key)
      if (at > held.at) holdDown(element, (at - held.at) * row)
    }
    if (!element) return
    const first = Math.floor(element.scrollTop / row)
    const key = rows[first]
    anchor.current = key === undefined ? null : { key: keyOf(key), at: first }
  }, [rows, view.value])

  const { top, height, row } = view.value
  const from = Math.max(0, Math.floor(top / row) - overscan)
  const to = Math.min(rows.length, Math.ceil((top + height) / row) + overscan)
  useLayoutEffect(() => {
    if (to >= rows.length - overscan) nearEnd?.()
  }, [to, rows.length, nearEnd])

  if (controls)
    controls.current = {
      show(at) {
        const element = frame.current
        if (!element) return
        const [above, below] = [at * row, (at + 1) * row]
        if (above < element.scrollTop) element.scrollTop = above
        else if (below > element.scrollTop + element.clientHeight) element.scrollTop = below - element.clientHeight
        measure()
      },
      toTop() {
        if (frame.current) frame.current.scrollTop = 0
      },
      isAtTop: () => (frame.current?.scrollTop ?? 0) < row,
      focus(key) {
        const found = frame.current?.querySelector(`[data-key="${CSS.escape(key)}"] a`)
        if (found instanceof HTMLElement) found.focus({ preventScroll: true })
      },
    }

  return html`<div class="rows" ref=${frame} onScroll=${measure} role="region" aria-label=${label} tabindex="-1">
    <ol style=${{ height: `${rows.length * row}px` }}>
      ${rows.slice(from, to).map((each, index) => {
        const at = from + index
        const key = keyOf(each)
        return html`<li
          key=${key}
          data-key=${key}
          style=${{ transform: `translateY(${at * row}px)` }}
          aria-setsize=${rows.length}
          aria-posinset=${at + 1}
        >
          ${render(each, at)}
        </li>`
      })}
    </ol>
  </div>`
}

/** Scrolls down by a number of pixels, even if the list is too short for that. @param {HTMLElement} element @param {number} pixels */
function holdDown(element, pixels) {
  const top = element.scrollTop + pixels
  const list = element.firstElementChild
  if (list instanceof HTMLElement) list.style.minHeight = `${top + element.clientHeight}px`
  element.scrollTop = top
}

/** @param {HTMLElement} element */
function letGo(element) {
  const list = element.firstElementChild
  if (list instanceof HTMLElement && list.style.minHeight !== '') list.style.minHeight = ''
}

/**
 * @typedef {object} ListControls
 * @property {(at: number) => void} show scrolls by the least distance that shows the row
 * @property {() => void} toTop
 * @property {() => boolean} isAtTop
 * @property {(key: string) => void} focus
 */
