import { z } from 'zod'

/** The member `ticker` of the configuration. */
export const tickerConfigSchema = z.strictObject({
  /** What whoever sends a slip seals it with. */
  secret: z.string().min(16, 'must have 16 or more characters').optional(),
})

export type TickerConfig = z.output<typeof tickerConfigSchema>
