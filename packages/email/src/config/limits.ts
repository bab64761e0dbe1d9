// Defines the limits on the cost of one mail.
import { z } from 'zod'

/** Returns the schema of a whole number above zero. */
export const count = (defaultValue: number) => z.number().int().positive().default(defaultValue)
/** Returns the schema of a whole number that may be 0. */
export const countOrNone = (defaultValue: number) => z.number().int().nonnegative().default(defaultValue)

/** The maximum cost of one message. Sizes are in octets, and times in ms. */
export const mailLimitsSchema = z.strictObject({
  /** The largest mail, in octets. */
  message_bytes: count(25 * 1024 * 1024),
  /** The largest header of a mail, in octets. */
  header_bytes: count(256 * 1024),
  /** The largest header field, in octets. */
  field_bytes: count(64 * 1024),
  /** The maximum number of header fields. */
  fields: count(1000),
  /** The maximum number of addresses in To and Cc together. */
  addresses: count(1000),
  /** The maximum number of DKIM signatures that the gateway verifies. */
  signatures: count(10),
  /** The maximum number of DKIM signatures of a mail. The gateway refuses mail with more. */
  refused_signatures: count(100),
  /** The maximum number of DNS queries for one mail. */
  dns_questions: count(20),
  /** The longest time for one DNS answer, ms. */
  dns_timeout_ms: count(5_000),
  /** The maximum number of MIME parts. */
  mime_parts: count(1000),
  /** The deepest nesting of MIME parts. */
  mime_depth: count(50),
  /** The maximum number of messages inside a mail. */
  embedded_messages: count(5),
  /** The maximum number of attachments. */
  attachments: count(100),
  /**
   * The maximum number of characters of text that an agent gets. The whole of a longer text is also stored as a file.
   */
  text_chars: count(256 * 1024),
  /** The longest time to parse one mail, ms. */
  parse_timeout_ms: count(10_000),
  /** The memory limit of a parser thread, MB. */
  parse_memory_mb: count(512),
  /** The maximum number of threads that parse mail. */
  parsers: z.number().int().min(1).max(8).default(2),
  /**
   * The maximum number of messages that wait for a parser. Beyond this number, the gateway asks peers to retry later.
   */
  waiting: count(256),
  /** The longest time for which the gateway defers a mail because DNS does not answer, ms. Then it accepts the mail as unverified. */
  deferral_ms: countOrNone(4 * 3_600_000),
})

export type MailLimits = z.infer<typeof mailLimitsSchema>
