import { z } from 'zod'

/** The member `ticker` of the configuration. */
export const tickerConfigSchema = z.strictObject({
  /** The secret that a sender seals a slip with. */
  secret: z.string().min(16, 'must have 16 or more characters').optional(),
})

export type TickerConfig = z.output<typeof tickerConfigSchema>
