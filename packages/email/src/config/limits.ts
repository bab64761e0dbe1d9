import { z } from 'zod'

/** What one message may cost us. Sizes in octets, times in ms. */
export const mailLimitsSchema = z.strictObject({
  message_bytes: z
    .number()
    .int()
    .positive()
    .default(25 * 1024 * 1024),
  header_bytes: z
    .number()
    .int()
    .positive()
    .default(256 * 1024),
  field_bytes: z
    .number()
    .int()
    .positive()
    .default(64 * 1024),
  fields: z.number().int().positive().default(1000),
  /** Addresses in To and Cc together. */
  addresses: z.number().int().positive().default(1000),
  /** Signatures that are judged; beyond `refused_signatures` the mail is refused. */
  signatures: z.number().int().positive().default(10),
  refused_signatures: z.number().int().positive().default(100),
  dns_questions: z.number().int().positive().default(20),
  dns_timeout_ms: z.number().int().positive().default(5_000),
  mime_parts: z.number().int().positive().default(1000),
  mime_depth: z.number().int().positive().default(50),
  embedded_messages: z.number().int().positive().default(5),
  attachments: z.number().int().positive().default(100),
  /** Text handed to an agent at once, in characters: it is stored for each agent. All of a longer one is a file beside it. */
  text_chars: z
    .number()
    .int()
    .positive()
    .default(256 * 1024),
  parse_timeout_ms: z.number().int().positive().default(10_000),
  parse_memory_mb: z.number().int().positive().default(512),
  parsers: z.number().int().min(1).max(8).default(2),
  /** Messages waiting for a parser before peers are asked to come back. */
  waiting: z.number().int().positive().default(256),
  /** How long a message is put off while DNS does not answer, before it is taken unverified. */
  deferral_ms: z
    .number()
    .int()
    .nonnegative()
    .default(4 * 3_600_000),
})

export type MailLimits = z.infer<typeof mailLimitsSchema>
