import { z } from 'zod'
import { count } from './limits.ts'

const portSchema = z.number().int().min(0).max(65_535)

const listenConfigShape = {
  /** Port of the listener; either this or `path`. */
  port: portSchema.optional(),
  /**
   * A socket in the file system, open to its owner and its group. A client there may declare by XFORWARD or XCLIENT who
   * brought a mail.
   */
  path: z.string().min(1).max(100).optional(),
  /** `lmtp` answers for each recipient. */
  protocol: z.enum(['smtp', 'lmtp']).default('smtp'),
  /** Address that the listener is bound to. */
  host: z.string().default('127.0.0.1'),
  /** Connections at a time. */
  max_connections: count(100),
  /** Recipients of one mail. */
  max_recipients: count(100),
  /** Silence, in ms, after which the gateway closes a connection (RFC 5321 §4.5.3.2 asks for five minutes). */
  timeout_ms: count(300_000),
  /** Longest time for a whole mail, ms, however diligently the client sends one octet after the other. */
  transfer_ms: count(900_000),
  /**
   * IP addresses of your mail servers that forward mail. They may declare by XFORWARD or XCLIENT who brought it, so
   * that SPF judges the right address.
   */
  trusted_peers: z.array(z.union([z.ipv4(), z.ipv6()])).default([]),
}

export const listenConfigSchema = z
  .strictObject(listenConfigShape)
  .refine(({ port, path }) => (port === undefined) !== (path === undefined), 'must have either "port" or "path"')

export type MailListenConfig = z.infer<typeof listenConfigSchema>

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
  max_connections: count(5),
  /**
   * The longest silence of the mail server, ms. A client that hangs up before the reply to DATA sends the mail twice:
   * RFC 5321 §4.5.3.2.6 asks for ten minutes.
   */
  timeout_ms: count(600_000),
})

export type SubmitConfig = z.infer<typeof submitConfigSchema>
