import { api } from './api.js'
import { session } from './session-state.js'

const readCode = () => /^#([A-Za-z0-9_-]{16,})$/.exec(location.hash)?.[1]

/** Calls `tell` when somebody opens a link with a code in a tab that shows the console: the page does not load anew. @param {() => void} tell */
export function onCode(tell) {
  addEventListener('hashchange', () => {
    if (readCode() !== undefined) tell()
  })
}

/** Takes the one-time code of a link out of the address, so that it is in no history and no screenshot. */
function takeCode() {
  const code = readCode()
  if (code === undefined) return undefined
  history.replaceState(null, '', `${location.pathname}#/`)
  // Nobody is told of a replaced address.
  dispatchEvent(new HashChangeEvent('hashchange'))
  return code
}

/** Looks whether a session is open; a code in the address begins one. The answer is what went wrong with the code, if anything. */
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

/** @param {{ token: string } | { code: string }} given */
export async function signIn(given) {
  await api('/operator/session', { method: 'POST', body: given })
  session.value = 'open'
}

export async function signOut() {
  await api('/operator/session', { method: 'DELETE' })
  session.value = 'closed'
}
