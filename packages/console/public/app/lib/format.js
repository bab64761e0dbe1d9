// Formats times, durations, sizes and counts for display.
/** Formats the time of day of an instant, to the second. @param {string | number} at */
export function formatClock(at) {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** Formats the time of day of an instant, to the millisecond. @param {string | number} at */
export function formatPreciseClock(at) {
  const date = new Date(at)
  return `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Formats the time of an instant, with its day if that is not today. @param {string | number} at @param {number} [now] */
export function formatInstant(at, now = Date.now()) {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date(now).toDateString()
  return isToday
    ? formatClock(at)
    : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${formatClock(at).slice(0, 5)}`
}

/** Formats a duration: `4 ms`, `1.65 s`, `3 min`. @param {number} ms */
export function formatDuration(ms) {
  if (ms < 1) return ms === 0 ? '0 ms' : '<1 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)} s`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return formatLongDuration(ms)
}

/** Formats a duration in whole units: `38 s`, `3 min`, `6 d`. @param {number} ms */
export function formatLongDuration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** Formats a number of bytes: `640 B`, `12 KB`. @param {number} bytes */
export function formatSize(bytes) {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Formats a count with its noun in the singular or plural. @param {number} count @param {string} singular @param {string} [plural] */
export function formatCount(count, singular, plural = `${singular}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`
}

/** Shortens a foreign text to one line. @param {string} text @param {number} [maxLength] */
export function shortenToLine(text, maxLength = 300) {
  return text
    .slice(0, maxLength * 2)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxLength)
}

/** Decodes base64 or base64url into bytes. @param {string} text */
export function decodeBase64(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, character => character.charCodeAt(0))
}
