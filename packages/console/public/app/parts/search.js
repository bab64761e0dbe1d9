// Renders the filters of a list as chips, and parses typed filters.
import { useRef } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import { html } from '../lib/html.js'

/** The names of the filters that can be typed. */
export const filterNames = ['agent', 'channel', 'state', 'sender', 'flag', 'code', 'since', 'until']

/** @typedef {Record<string, string>} Filters */

/**
 * Parses typed filters, such as `agent:desk since:1h words of the text`.
 * @param {string} typed @param {Filters} before @returns {Filters}
 */
export function readTyped(typed, before) {
  /** @type {Filters} */
  const filters = { ...before }
  const words = typed.split(/\s+/).filter(word => {
    const [, name = '', value = ''] = /^(\w+):(.+)$/.exec(word) ?? []
    if (!filterNames.includes(name)) return word !== ''
    filters[name] = value
    return false
  })
  if (words.length > 0) filters.text = words.join(' ')
  return filters
}

/**
 * Shows the filters as chips, and a field to add more.
 * @param {{ filters: Filters, change: (filters: Filters) => void }} props
 */
export function Search({ filters, change }) {
  const typed = useSignal('')
  const field = useRef(/** @type {HTMLInputElement | null} */ (null))
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    const next = readTyped(typed.value, filters)
    typed.value = ''
    change(next)
  }
  /** @param {string} name */
  const remove = name => {
    const { [name]: _, ...rest } = filters
    change(rest)
    field.current?.focus()
  }
  const names = Object.keys(filters)
  /** @param {KeyboardEvent} event */
  const press = event => {
    const last = names.at(-1)
    if (event.key === 'Backspace' && typed.value === '' && last) remove(last)
  }
  return html`<form class="search" role="search" onSubmit=${submit}>
    <svg width="14" height="14" viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
      <circle cx="6" cy="6" r="4.2" />
      <path d="M9.2 9.2 13 13" />
    </svg>
    ${names.map(
      name =>
        html`<button key=${name} type="button" class="token" onClick=${() => remove(name)} title="Remove this filter">
          <span class="hidden">Remove filter </span>${name}:${filters[name]}
        </button>`,
    )}
    <input
      ref=${field}
      id="search"
      type="text"
      enterkeyhint="search"
      autocomplete="off"
      spellcheck=${false}
      aria-label="Filter: agent:, channel:, state:, sender:, flag:, code:, since:1h, or words of the text"
      placeholder=${names.length === 0 ? 'agent:  state:failed  since:1h  sender:  text …' : ''}
      value=${typed.value}
      onInput=${(/** @type {InputEvent} */ event) => {
        typed.value = /** @type {HTMLInputElement} */ (event.target).value
      }}
      onKeyDown=${press}
    />
    <button class="hidden" type="submit" tabindex="-1">Filter</button>
  </form>`
}
