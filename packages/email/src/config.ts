import { z } from 'zod'
import { answerConfigShape } from './out/config.ts'
import { providersConfigSchema } from './providers/config.ts'

const portSchema = z.number().int().min(0).max(65_535)

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

const listenConfigShape = {
  /** Either this or `path`. */
  port: portSchema.optional(),
  /** A socket in the file system, open to its owner and its group. Whoever opens it may say by XFORWARD or XCLIENT who brought a mail. */
  path: z.string().min(1).max(100).optional(),
  protocol: z.enum(['smtp', 'lmtp']).default('smtp'),
  host: z.string().default('127.0.0.1'),
  max_connections: z.number().int().positive().default(100),
  max_recipients: z.number().int().positive().default(100),
  /** A client silent for longer is cut off, ms (RFC 5321 §4.5.3.2 asks for five minutes). */
  timeout_ms: z.number().int().positive().default(300_000),
  /** A message must have come whole after this, ms, however diligently its client sends one octet after the other. */
  transfer_ms: z.number().int().positive().default(900_000),
  /**
   * IP addresses of mail servers of yours that pass mail on: they may say by XFORWARD or XCLIENT who brought it. Whose own
   * address it is that SPF judges is then known.
   */
  trusted_peers: z.array(z.union([z.ipv4(), z.ipv6()])).default([]),
}

const listenConfigSchema = z
  .strictObject(listenConfigShape)
  .refine(({ port, path }) => (port === undefined) !== (path === undefined), 'must have either "port" or "path"')

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

/** The `email` slice of the configuration. */
export const emailConfigSchema = z.strictObject({
  intake: z.strictObject({ secret: z.string().min(1, 'must not be empty') }).optional(),
  /** Webhooks of mail providers. */
  providers: providersConfigSchema.default({}),
  listen: listenConfigSchema.optional(),
  submit: submitConfigSchema.optional(),
  dkim: z
    .strictObject({
      selector: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/i, 'must be a DNS label of 48 characters at most')
        .default('postern'),
    })
    .prefault({}),
  trust: z
    .strictObject({
      /** An author whose DMARC passes by SPF alone counts as verified. Everybody on a shared host has that. */
      spf_only: z.boolean().default(false),
      /** Domains whose ARC seal is believed when it says that DMARC passed before a list changed the mail (RFC 8617). */
      arc_sealers: z.array(z.string().min(1).toLowerCase()).default([]),
      /**
       * Mail servers of the operator's own that have judged a mail before: their name in `Authentication-Results` (RFC 8601), spelled as they spell it, and the
       * door they bring it by. Each must take out what others wrote under its name.
       */
      upstreams: z
        .array(
          z.strictObject({
            authserv_id: z.string().regex(/^[^\s;="()]+$/, 'must be a plain name'),
            endpoint: z.enum(['listen', 'inbound']),
          }),
        )
        .default([]),
      /** Mail without a proof whose author's domain asks for refusal: told so, or taken and kept from the agents. */
      dmarc_reject: z.enum(['refuse', 'quarantine']).default('refuse'),
      /** RSA keys shorter than this prove nothing (RFC 8301 asks for 2048 of signers and 1024 of verifiers). */
      min_key_bits: z.number().int().min(1024).default(1024),
    })
    .prefault({}),
  ...answerConfigShape,
  limits: mailLimitsSchema.prefault({}),
})

export type EmailConfig = z.infer<typeof emailConfigSchema>
export type MailTrust = EmailConfig['trust']
export type SubmitConfig = z.infer<typeof submitConfigSchema>
export type MailListenConfig = z.infer<typeof listenConfigSchema>
export type MailLimits = z.infer<typeof mailLimitsSchema>
