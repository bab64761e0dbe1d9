// Defines the configuration of the test channel `ticker`.
import { z } from 'zod'

/** The member `ticker` of the configuration. */
export const tickerConfigSchema = z.strictObject({
  /** The secret with which a sender seals a slip. */
  secret: z.string().min(16, 'must have 16 or more characters').optional(),
})

export type TickerConfig = z.output<typeof tickerConfigSchema>
