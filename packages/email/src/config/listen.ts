import { z } from 'zod'
import { portSchema } from './port.ts'

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

export const listenConfigSchema = z
  .strictObject(listenConfigShape)
  .refine(({ port, path }) => (port === undefined) !== (path === undefined), 'must have either "port" or "path"')

export type MailListenConfig = z.infer<typeof listenConfigSchema>
