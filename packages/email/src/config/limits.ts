import { z } from 'zod'

/** The maximum cost of one message. Sizes in octets, times in ms. */
export const mailLimitsSchema = z.strictObject({
  /** Bytes of one mail. */
  message_bytes: z
    .number()
    .int()
    .positive()
    .default(25 * 1024 * 1024),
  /** Bytes of its header. */
  header_bytes: z
    .number()
    .int()
    .positive()
    .default(256 * 1024),
  /** Bytes of one header field. */
  field_bytes: z
    .number()
    .int()
    .positive()
    .default(64 * 1024),
  /** Header fields. */
  fields: z.number().int().positive().default(1000),
  /** Addresses in To and Cc together. */
  addresses: z.number().int().positive().default(1000),
  /** DKIM signatures that are verified. */
  signatures: z.number().int().positive().default(10),
  /** DKIM signatures of one mail; the gateway refuses mail with more. */
  refused_signatures: z.number().int().positive().default(100),
  /** DNS questions for one mail. */
  dns_questions: z.number().int().positive().default(20),
  /** Longest time for one DNS answer, ms. */
  dns_timeout_ms: z.number().int().positive().default(5_000),
  /** MIME parts. */
  mime_parts: z.number().int().positive().default(1000),
  /** Levels of MIME parts in each other. */
  mime_depth: z.number().int().positive().default(50),
  /** Messages in the mail. */
  embedded_messages: z.number().int().positive().default(5),
  /** Attachments. */
  attachments: z.number().int().positive().default(100),
  /** Characters of text that an agent gets; all of a longer text is a file beside it. */
  text_chars: z
    .number()
    .int()
    .positive()
    .default(256 * 1024),
  /** Longest time to parse one mail, ms. */
  parse_timeout_ms: z.number().int().positive().default(10_000),
  /** Memory of a parser, MB. */
  parse_memory_mb: z.number().int().positive().default(512),
  /** Threads that parse mail. */
  parsers: z.number().int().min(1).max(8).default(2),
  /** Mails that wait for a parser; beyond that the gateway asks peers to come again. */
  waiting: z.number().int().positive().default(256),
  /** How long the gateway defers a mail while DNS does not answer, ms; then it accepts it as unverified. */
  deferral_ms: z
    .number()
    .int()
    .nonnegative()
    .default(4 * 3_600_000),
})

export type MailLimits = z.infer<typeof mailLimitsSchema>
