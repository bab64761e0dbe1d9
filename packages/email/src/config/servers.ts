// Defines the settings of the SMTP listener and of the server for outgoing mail.
import { z } from 'zod'
import { count } from './limits.ts'

const portSchema = z.number().int().min(0).max(65_535)

const listenConfigShape = {
  /** The port of the listener. Set either this or `path`. */
  port: portSchema.optional(),
  /**
   * The path of a socket in the file system, open to its owner and its group. A client there may declare by XFORWARD or XCLIENT which client
   * delivered a mail.
   */
  path: z.string().min(1).max(100).optional(),
  /** The protocol. `lmtp` answers for each recipient. */
  protocol: z.enum(['smtp', 'lmtp']).default('smtp'),
  /** The address that the listener is bound to. */
  host: z.string().default('127.0.0.1'),
  /** The maximum number of simultaneous connections. */
  max_connections: count(100),
  /** The maximum number of recipients of one mail. */
  max_recipients: count(100),
  /** The time without data after which the gateway closes a connection, ms (RFC 5321 §4.5.3.2 asks for five minutes). */
  timeout_ms: count(300_000),
  /** The longest time for a whole mail, ms, even if the client keeps sending octets. */
  transfer_ms: count(900_000),
  /**
   * IP addresses of your mail servers that forward mail. They may declare by XFORWARD or XCLIENT which client delivered it, so that SPF checks the
   * right address.
   */
  trusted_peers: z.array(z.union([z.ipv4(), z.ipv6()])).default([]),
}

export const listenConfigSchema = z
  .strictObject(listenConfigShape)
  .refine(({ port, path }) => (port === undefined) !== (path === undefined), 'must have either "port" or "path"')

export type MailListenConfig = z.infer<typeof listenConfigSchema>

/** The smarthost for outgoing mail. Set `user` and `password` only if it requires them. */
export const submitConfigSchema = z.strictObject({
  /** The host of the mail server. */
  host: z.string().min(1),
  /** The port of the mail server. */
  port: portSchema.default(25),
  /** The protocol. `lmtp` answers for each recipient after the message (RFC 2033). */
  protocol: z.enum(['smtp', 'lmtp']).default('smtp'),
  /** The user name, if the server requires one. */
  user: z.string().optional(),
  /** The password of that user. */
  password: z.string().optional(),
  /** True if TLS begins with the first byte (port 465). Otherwise the gateway uses STARTTLS if the server offers it. */
  secure: z.boolean().default(false),
  /** The number of parallel connections that stay open. */
  max_connections: count(5),
  /**
   * The longest time to wait for the mail server, ms. A client that disconnects before the reply to DATA sends the mail twice, so RFC 5321 §4.5.3.2.6
   * asks for ten minutes.
   */
  timeout_ms: count(600_000),
})

export type SubmitConfig = z.infer<typeof submitConfigSchema>
