// Renders labelled fields of forms: choices, lines and longer texts.
import { html } from '../lib/html.js'

/** Returns the value that somebody typed or chose. @param {Event} event */
export function typedIn(event) {
  return /** @type {HTMLInputElement} */ (event.target).value
}

/**
 * @param {{ label: string, options: readonly { value: string, text: string }[], value: string, change: (value: string) => void, disabled?: boolean }} props
 */
export function Choice({ label, options, value, change, disabled = false }) {
  return html`<label class="field">
    <span>${label}</span>
    <select value=${value} disabled=${disabled} onChange=${(/** @type {Event} */ event) => change(typedIn(event))}>
      ${options.map(option => html`<option key=${option.value} value=${option.value} selected=${option.value === value}>${option.text}</option>`)}
    </select>
  </label>`
}

/** @param {{ label: string, value: string, change: (value: string) => void, placeholder?: string, required?: boolean, type?: string }} props */
export function Field({ label, value, change, placeholder = '', required = false, type = 'text' }) {
  return html`<label class="field">
    <span>${label}</span>
    <input type=${type} value=${value} required=${required} placeholder=${placeholder} autocomplete="off" spellcheck=${false} onInput=${(/** @type {Event} */ event) => change(typedIn(event))} />
  </label>`
}

/** @param {{ label: string, value: string, change: (value: string) => void, rows?: number, mono?: boolean }} props */
export function TextArea({ label, value, change, rows = 4, mono = false }) {
  return html`<label class="field">
    <span>${label}</span>
    <textarea class=${mono ? 'mono' : ''} rows=${rows} value=${value} spellcheck=${!mono} onInput=${(/** @type {Event} */ event) => change(typedIn(event))}></textarea>
  </label>`
}
