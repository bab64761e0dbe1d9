// Validates a duration in the configuration of an agent, such as "60s"; at most 15 minutes.
import { parseDuration } from '@postern/message'
import { z } from 'zod'

const maxDurationMs = 15 * 60_000

/** A duration such as `"500ms"`, `"60s"` or `"2m"`. It stays text, so that the parsed configuration can be parsed again. */
export const durationSchema = z.string().refine(text => {
  const ms = parseDuration(text)
  return ms > 0 && ms <= maxDurationMs
}, 'must be a time such as "60s", "500ms" or "2m", at most 15m')
