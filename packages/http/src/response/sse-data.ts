export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Proxies hold small answers back otherwise.
  'x-accel-buffering': 'no',
} as const

const foreignLineEnds = /[\u0085\u2028\u2029]/g

/**
 * A value as JSON that is one `data` line of server-sent events (WHATWG HTML §9.2) for every reader: JSON leaves U+0085, U+2028 and
 * U+2029 as they are, and clients that split text into lines by Unicode's rules (Python's `splitlines`) would cut the event there.
 */
export function toSseJson(value: unknown): string {
  return JSON.stringify(value).replace(foreignLineEnds, end => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
