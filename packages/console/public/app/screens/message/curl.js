// Writes the curl command that sends a received message again.
import { decodeBase64 } from '../../lib/format.js'

/** @typedef {{ via: string, bytes: string, beside: any }} Received the stored bytes of a message, and the transport data beside them */

/** Header fields that curl writes itself, or that do not belong to the request. */
const omittedHeaders = new Set(['content-length', 'connection', 'transfer-encoding'])

/**
 * Writes a command that resends the same bytes with the stored proofs of the sender. The gateway stores no tokens.
 * @param {Received} received
 * @param {string} agent
 * @param {string} origin the gateway's origin, as this page reaches it
 */
export function writeCurl({ via, bytes, beside: transport }, agent, origin) {
  const body = readText(bytes)
  const request = (writers[via] ?? writeRun)({ beside: transport ?? {}, agent, origin })
  const command = ['curl', '-sSig', ...request.map(quote)]
  // Bytes that a terminal would interpret, or that no shell preserves, are sent as base64.
  if (body === undefined)
    return `printf %s ${quote(bytes)} | base64 -d | ${[...command, ...bodyArguments[via === 'email' ? 'mail' : 'http']].join(' ')}`
  return [...command, '--data-binary', quote(body)].join(' ')
}

const bodyArguments = { mail: ['--upload-file', '-'], http: ['--data-binary', '@-'] }
const bearer = 'authorization: Bearer TOKEN'
const json = 'content-type: application/json'

/** @typedef {{ beside: any, agent: string, origin: string }} CurlRequest */

/** @type {Record<string, (request: CurlRequest) => string[]>} */
const writers = {
  activitypub: ({
    beside: { target = '/inbox', headers = { 'content-type': 'application/activity+json' } },
    origin,
  }) => [
    ...Object.entries(headers)
      .filter(([name]) => !omittedHeaders.has(name))
      .flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    `${origin}${target}`,
  ],
  email: ({ beside: { from = '', to = [] }, origin }) => [
    ...['--mail-from', from],
    .../** @type {string[]} */ (to).flatMap(each => ['--mail-rcpt', each]),
    `smtp://${new URL(origin).hostname}:25`,
  ],
  a2a: ({ beside: { binding, version = '1.0' }, agent, origin }) => [
    ...['-H', json, '-H', bearer, '-H', `A2A-Version: ${version}`],
    `${origin}/agents/${agent}/a2a${binding === 'HTTP+JSON' ? '/rest/message:send' : ''}`,
  ],
}

/** @param {CurlRequest} request */
function writeRun({ agent, origin }) {
  return ['-H', json, '-H', bearer, `${origin}/api/v1/agents/${agent}/runs`]
}

/** Decodes one line of text without control characters. Returns undefined for any other bytes. @param {string} bytes base64 */
function readText(bytes) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(decodeBase64(bytes))
    return /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** Quotes a text as one word of a POSIX shell (2.2.2). Removes the control characters, which a terminal would interpret. @param {string} text */
function quote(text) {
  const safe = text.replace(/[\p{Cc}\p{Cf}]/gu, '')
  return /^[\w./:@=+-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}
