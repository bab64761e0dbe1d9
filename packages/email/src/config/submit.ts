import { z } from 'zod'
import { portSchema } from './port.ts'

/** The smarthost that gets finished mail. `user` and `password` only where it asks for them. */
export const submitConfigSchema = z.strictObject({
  /** The mail server. */
  host: z.string().min(1),
  /** Its port. */
  port: portSchema.default(25),
  /** `lmtp` answers for each recipient after the message (RFC 2033). */
  protocol: z.enum(['smtp', 'lmtp']).default('smtp'),
  /** User, if the server asks for one. */
  user: z.string().optional(),
  /** Password of that user. */
  password: z.string().optional(),
  /** TLS from the first byte (port 465); otherwise STARTTLS, where the server offers it. */
  secure: z.boolean().default(false),
  /** Parallel connections kept open. */
  max_connections: z.number().int().positive().default(5),
  /**
   * The longest silence of the mail server, ms. A client that hangs up before the reply to DATA sends the mail twice:
   * RFC 5321 §4.5.3.2.6 asks for ten minutes.
   */
  timeout_ms: z.number().int().positive().default(600_000),
})

export type SubmitConfig = z.infer<typeof submitConfigSchema>
