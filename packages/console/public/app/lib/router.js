// Reads the screen from the hash of the address, and writes links to screens.
import { computed, signal } from '../../vendor/signals.js'

const address = signal(location.hash)
addEventListener('hashchange', () => {
  address.value = location.hash
})

/** The screen that the address names, with its subject and the query after `?`. */
export const route = computed(() => {
  const [path = '', search = ''] = address.value.replace(/^#\/?/, '').split('?', 2)
  const [screen = '', ...subjectSegments] = path.split('/')
  return { screen: screen || 'flow', subject: decode(subjectSegments.join('/')), query: new URLSearchParams(search) }
})

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Returns the link to a screen, without empty query members.
 * @param {string} screen
 * @param {{ subject?: string | number, query?: Record<string, string | undefined> }} [options]
 */
export function linkTo(screen, { subject, query = {} } = {}) {
  const queryEntries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search =
    queryEntries.length > 0 ? `?${new URLSearchParams(/** @type {[string, string][]} */ (queryEntries))}` : ''
  return `#/${screen}${subject === undefined ? '' : `/${encodeURIComponent(subject)}`}${search}`
}

/** Opens the screen of a link. @param {string} link */
export function navigateTo(link) {
  location.hash = link.slice(1)
}

/** Shows the same screen with another query, without adding a history entry. @param {string} link */
export function replace(link) {
  history.replaceState(null, '', link)
  address.value = location.hash
}
