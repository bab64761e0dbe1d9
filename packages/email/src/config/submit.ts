import { z } from 'zod'
import { portSchema } from './port.ts'

/** Where finished mail is handed over: one smarthost. `user` and `password` only where it asks for them. */
export const submitConfigSchema = z.strictObject({
  host: z.string().min(1),
  port: portSchema.default(25),
  /** LMTP answers for each recipient after the message (RFC 2033). */
  protocol: z.enum(['smtp', 'lmtp']).default('smtp'),
  user: z.string().optional(),
  password: z.string().optional(),
  /** TLS from the first byte (port 465). STARTTLS is used anyway where the far side offers it. */
  secure: z.boolean().default(false),
  /** Parallel connections kept open. */
  max_connections: z.number().int().positive().default(5),
  /**
   * Longest silence of the smarthost, ms. Whoever hangs up before the reply to DATA sends the mail twice: RFC 5321
   * §4.5.3.2.6 asks for ten minutes.
   */
  timeout_ms: z.number().int().positive().default(600_000),
})

export type SubmitConfig = z.infer<typeof submitConfigSchema>
