// Defines whose verdicts about the author of a mail are trusted.
import { z } from 'zod'

/** The third parties whose verdict about an author is trusted, and the strictness of the gateway's own checks. */
export const mailTrustSchema = z.strictObject({
  /** True if an author counts as verified when DMARC passes by SPF alone. Everyone on a shared host passes SPF. */
  spf_only: z.boolean().default(false),
  /** Domains whose ARC seal is trusted when it reports that DMARC passed before a list changed the mail (RFC 8617). */
  arc_sealers: z.array(z.string().min(1).toLowerCase()).default([]),
  /**
   * Your own mail servers that check mail first and whose `Authentication-Results` (RFC 8601) are trusted. Each of them must remove foreign fields
   * that bear its name.
   */
  upstreams: z
    .array(
      z.strictObject({
        /** The server's name in `Authentication-Results`, exactly as the server spells it. */
        authserv_id: z.string().regex(/^[^\s;="()]+$/, 'must be a plain name'),
        /** The endpoint over which the server delivers mail: the SMTP port `listen`, or the webhook `inbound`. */
        endpoint: z.enum(['listen', 'inbound']),
      }),
    )
    .default([]),
  /**
   * The treatment of unproven mail whose author's domain asks to reject it: `refuse` rejects it, and `quarantine` hides it from the agents.
   */
  dmarc_reject: z.enum(['refuse', 'quarantine']).default('refuse'),
  /** The minimum number of bits of an RSA key. Shorter keys prove nothing (RFC 8301 requires at least 2048 bits for signing and 1024 bits for verification). */
  min_key_bits: z.number().int().min(1024).default(1024),
})

export type MailTrust = z.infer<typeof mailTrustSchema>
