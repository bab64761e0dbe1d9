// Shows the form to sign in.
import { useEffect } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import { html } from '../lib/html.js'
import { signIn } from '../lib/session.js'

/** @param {{ failure: string | undefined }} props */
export function SignIn({ failure }) {
  const token = useSignal('')
  const problem = useSignal(/** @type {string | undefined} */ (undefined))
  const isSending = useSignal(false)
  useEffect(() => {
    problem.value = undefined
  }, [failure])
  /** @param {Event} event */
  const submit = async event => {
    event.preventDefault()
    isSending.value = true
    try {
      await signIn({ token: token.value.trim() })
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error)
    }
    isSending.value = false
  }
  const shown = problem.value ?? failure
  return html`<main class="sign-in">
    <form onSubmit=${submit}>
      <div class="brand"><i></i><h1>Postern</h1></div>
      <label class="field">
        <span>Operator token</span>
        <input
          type="password"
          name="token"
          autocomplete="current-password"
          autofocus
          required
          value=${token.value}
          onInput=${(/** @type {InputEvent} */ event) => {
            token.value = /** @type {HTMLInputElement} */ (event.target).value
          }}
        />
      </label>
      ${shown && html`<div class="problem" role="alert">${shown}</div>`}
      <button class="btn primary" type="submit" disabled=${isSending.value}>Sign in</button>
      <p class="muted">
        It is <code>operator_token</code> of your configuration. <code>npx postern dev</code> prints it, with a link that signs you in.
      </p>
    </form>
  </main>`
}
