import { z } from 'zod'

/** A whole number above zero. */
export const count = (usual: number) => z.number().int().positive().default(usual)
/** A whole number, or 0. */
export const countOrNone = (usual: number) => z.number().int().nonnegative().default(usual)

/** The maximum cost of one message. Sizes in octets, times in ms. */
export const mailLimitsSchema = z.strictObject({
  /** Bytes of one mail. */
  message_bytes: count(25 * 1024 * 1024),
  /** Bytes of its header. */
  header_bytes: count(256 * 1024),
  /** Bytes of one header field. */
  field_bytes: count(64 * 1024),
  /** Header fields. */
  fields: count(1000),
  /** Addresses in To and Cc together. */
  addresses: count(1000),
  /** DKIM signatures that are verified. */
  signatures: count(10),
  /** DKIM signatures of one mail; the gateway refuses mail with more. */
  refused_signatures: count(100),
  /** DNS questions for one mail. */
  dns_questions: count(20),
  /** Longest time for one DNS answer, ms. */
  dns_timeout_ms: count(5_000),
  /** MIME parts. */
  mime_parts: count(1000),
  /** Levels of MIME parts in each other. */
  mime_depth: count(50),
  /** Messages in the mail. */
  embedded_messages: count(5),
  /** Attachments. */
  attachments: count(100),
  /** Characters of text that an agent gets; all of a longer text is a file beside it. */
  text_chars: count(256 * 1024),
  /** Longest time to parse one mail, ms. */
  parse_timeout_ms: count(10_000),
  /** Memory of a parser, MB. */
  parse_memory_mb: count(512),
  /** Threads that parse mail. */
  parsers: z.number().int().min(1).max(8).default(2),
  /** Mails that wait for a parser; beyond that the gateway asks peers to come again. */
  waiting: count(256),
  /** How long the gateway defers a mail while DNS does not answer, ms; then it accepts it as unverified. */
  deferral_ms: countOrNone(4 * 3_600_000),
})

export type MailLimits = z.infer<typeof mailLimitsSchema>
