// Starts the console: opens the session and renders the sign-in or the screens.
import { useEffect } from '../vendor/hooks.js'
import { render } from '../vendor/preact.js'
import { signal } from '../vendor/signals.js'
import { html } from './lib/html.js'
import { follow, unfollow } from './lib/live.js'
import { onSignInCode, openSession } from './lib/session.js'
import { session } from './lib/session-state.js'
import { applyTheme } from './lib/theme.js'
import { Toasts } from './parts/toast.js'
import { SignIn } from './screens/sign-in.js'
import { Shell } from './shell.js'

const failure = signal(/** @type {string | undefined} */ (undefined))

function Console() {
  const isOpen = session.value === 'open'
  useEffect(() => {
    if (isOpen) follow()
    else unfollow()
  }, [isOpen])
  if (session.value === 'unknown') return html`<${Toasts} />`
  return html`${isOpen ? html`<${Shell} />` : html`<${SignIn} failure=${failure.value} />`}<${Toasts} />`
}

function startSession() {
  failure.value = undefined
  openSession()
    .then(problem => {
      failure.value = problem
    })
    .catch(error => {
      failure.value = error instanceof Error ? error.message : String(error)
      if (session.value !== 'open') session.value = 'closed'
    })
}

applyTheme()
render(html`<${Console} />`, document.body)
startSession()
// A sign-in code in the address opens a new session.
onSignInCode(startSession)
