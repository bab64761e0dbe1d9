// Explains the outcome of a message in one sentence, and names the next step.
import { formatClock } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { describeOutcome } from '../../lib/outcome.js'
import { Copy } from '../../parts/copy.js'

/**
 * Shows a sentence about the outcome of the message, then the next step, and then the facts behind it.
 * @param {{ record: any, why: any, children?: any }} props
 */
export function Why({ record, why, children }) {
  const { outcome } = describeOutcome({
    ...record,
    deliveries: record.deliveries.map((/** @type {any} */ each) => each.state),
  })
  const sentence = why?.sentence ?? (record.error ? `${outcome}: ${record.error}` : outcome)
  return html`<section class="why" aria-label="Why">
    <p>${sentence}.</p>
    ${why?.fix && html`<p class="fix">${why.fix.text} ${why.fix.command && html`<code>${why.fix.command}</code> <${Copy} text=${why.fix.command} what="command" />`}</p>`}
    ${
      why?.evidence?.length > 0 &&
      html`<details class="evidence">
        <summary>Evidence</summary>
        <ol>
          ${why.evidence.map(
            (/** @type {{ at?: string, fact: string }} */ { at, fact }, /** @type {number} */ index) =>
              html`<li key=${index}><time>${at ? formatClock(at) : ''}</time><span>${fact}</span></li>`,
          )}
        </ol>
      </details>`
    }
    <div class="acts">${children}</div>
  </section>`
}
