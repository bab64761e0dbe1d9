// Signs in and out, by token or by the one-time code of a link.
import { api } from './api.js'
import { session } from './session-state.js'

const readCode = () => /^#([A-Za-z0-9_-]{16,})$/.exec(location.hash)?.[1]

/**
 * Calls `listener` when somebody opens a link with a code in a tab that already shows the console, because the page does not reload then.
 * @param {() => void} listener
 */
export function onSignInCode(listener) {
  addEventListener('hashchange', () => {
    if (readCode() !== undefined) listener()
  })
}

/** Takes the one-time code out of the address, so that it appears in no history and no screenshot. */
function takeCode() {
  const code = readCode()
  if (code === undefined) return undefined
  history.replaceState(null, '', `${location.pathname}#/`)
  // Browsers send no event for a replaced address.
  dispatchEvent(new HashChangeEvent('hashchange'))
  return code
}

/** Checks whether a session is open, and opens one if the address holds a code. Returns the error text if the code is refused. */
export async function openSession() {
  const code = takeCode()
  const { open } = await api('/operator/session')
  if (open || code === undefined) {
    session.value = open ? 'open' : 'closed'
    return undefined
  }
  try {
    await signIn({ code })
    return undefined
  } catch (error) {
    session.value = 'closed'
    return error instanceof Error ? error.message : String(error)
  }
}

/** @param {{ token: string } | { code: string }} credentials */
export async function signIn(credentials) {
  await api('/operator/session', { method: 'POST', body: credentials })
  session.value = 'open'
}

export async function signOut() {
  await api('/operator/session', { method: 'DELETE' })
  session.value = 'closed'
}
