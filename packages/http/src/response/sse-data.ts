export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Otherwise proxies delay small answers.
  'x-accel-buffering': 'no',
} as const

const foreignLineEnds = /[\u0085\u2028\u2029]/g

/**
 * JSON as one `data` line of server-sent events (WHATWG HTML §9.2). JSON does not escape U+0085, U+2028 and U+2029, and some clients end
 * lines there by Unicode's rules (Python's `splitlines`).
 */
export function toSseJson(value: unknown): string {
  return JSON.stringify(value).replace(foreignLineEnds, end => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
