// Renders tabs with keyboard control (WAI-ARIA, tabs pattern).
import { useSignal } from '../../vendor/signals.js'
import { html } from '../lib/html.js'

let count = 0

/**
 * Shows one of several panes. The arrow keys move between their tabs (WAI-ARIA, tabs pattern).
 * @param {{ label: string, tabs: readonly { name: string, view: () => any }[], first?: string }} props
 */
export function Tabs({ label, tabs, first }) {
  const chosen = useSignal(first ?? tabs[0]?.name)
  const id = useSignal(`tabs-${++count}`).value
  const at = Math.max(
    0,
    tabs.findIndex(({ name }) => name === chosen.value),
  )
  /** @param {KeyboardEvent} event */
  const move = event => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = tabs[(at + step + tabs.length) % tabs.length]
    chosen.value = next?.name
    const list = /** @type {HTMLElement} */ (event.currentTarget)
    const button = list.querySelectorAll('button')[(at + step + tabs.length) % tabs.length]
    button?.focus()
  }
  return html`<div>
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
      ${tabs.map(
        ({ name }, index) =>
          html`<button
            key=${name}
            type="button"
            role="tab"
            id=${`${id}-${index}`}
            aria-controls=${`${id}-pane`}
            aria-selected=${index === at}
            tabindex=${index === at ? 0 : -1}
            onClick=${() => {
              chosen.value = name
            }}
          >
            ${name}
          </button>`,
      )}
    </div>
    <div role="tabpanel" id=${`${id}-pane`} aria-labelledby=${`${id}-${at}`}>${tabs[at]?.view()}</div>
  </div>`
}
