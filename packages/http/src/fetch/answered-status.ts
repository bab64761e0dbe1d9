// Describes the status of an answer with its address, and the target of a redirect.
import type { FetchAnswer } from '@postern/message'

export type AnsweredStatus = Pick<FetchAnswer, 'status' | 'headers'>

/**
 * Writes a status with the address that answered: `404 at https://desk.test/hook`. It names the target of a redirect, which is not followed because
 * the body and the credentials would go to an address that nobody chose. It leaves out queries and passwords.
 */
export function formatStatus(url: string, { status, headers }: AnsweredStatus): string {
  const location = status >= 300 && status < 400 ? headers.get('location') : null
  const target = location === null ? '' : `, a redirect to ${formatAddress(location, url)} that is not followed`
  return `${status} at ${formatAddress(url)}${target}`
}

function formatAddress(url: string, base?: string): string {
  const parsedUrl = URL.parse(url, base)
  return parsedUrl ? `${parsedUrl.origin}${parsedUrl.pathname}` : 'an address that is not valid'
}
