import { parseDuration } from '@postern/core'
import { z } from 'zod'

const longestMs = 15 * 60_000

/** `"500ms"`, `"60s"`, `"2m"`; stays text so that a configuration that was read once can be read again. */
export const durationSchema = z.string().refine(text => {
  const ms = parseDuration(text)
  return ms > 0 && ms <= longestMs
}, 'must be a time such as "60s", "500ms" or "2m", at most 15m')
