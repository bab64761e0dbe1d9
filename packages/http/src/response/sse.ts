// Writes values as server-sent events (WHATWG HTML §9.2).

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Without this header proxies delay small answers.
  'x-accel-buffering': 'no',
} as const

const unicodeLineEndPattern = /[\u0085\u2028\u2029]/g

/**
 * Formats a value as JSON for one `data` line of server-sent events (WHATWG HTML §9.2). U+0085, U+2028 and U+2029 are escaped, because some clients
 * end lines there by the rules of Unicode (Python's `splitlines`).
 */
export function toSseJson(value: unknown): string {
  return JSON.stringify(value).replace(
    unicodeLineEndPattern,
    lineEnd => `\\u${lineEnd.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
