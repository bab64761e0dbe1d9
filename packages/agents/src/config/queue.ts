import type { QueueMode, QueueModeName } from '@postern/core'
import { queueModes } from '@postern/core'
import { z } from 'zod'
import { durationSchema, parseDeadline } from './duration.ts'

const longestWindowMs = 10_000

const windowSchema = durationSchema.refine(
  text => parseDeadline(text) <= longestWindowMs,
  `must be at most ${longestWindowMs / 1000}s: the sender waits as long`,
)

/** How much of an agent runs at once, and what becomes of messages that come meanwhile. */
export const queueConfigShape = {
  /** Turns of the agent at a time; turns that wait for another agent do not count; default: 32. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** What happens to messages that arrive while the agent works on their conversation. */
  queue: z
    .union([
      z.enum(queueModes),
      z.strictObject({
        /** Answer the messages together. */
        mode: z.literal('merge'),
        /** How long a message waits for further ones of its sender. */
        window: windowSchema,
      }),
    ])
    .default('queue'),
}

type QueueConfig = z.output<typeof queueConfigShape.queue>

/** Undefined: each message in its order. */
export function readQueueMode(queue: QueueConfig): QueueMode | undefined {
  const mode: QueueModeName = typeof queue === 'string' ? queue : queue.mode
  if (mode === 'queue') return undefined
  return { mode, ...(typeof queue === 'object' && { windowMs: parseDeadline(queue.window) }) }
}
