import { z } from 'zod'

/** The third parties whose verdict about an author is believed. */
export const mailTrustSchema = z.strictObject({
  /** An author whose DMARC passes by SPF alone counts as verified. Everyone on a shared host passes SPF. */
  spf_only: z.boolean().default(false),
  /** Domains whose ARC seal counts when it reports that DMARC passed before a list changed the mail (RFC 8617). */
  arc_sealers: z.array(z.string().min(1).toLowerCase()).default([]),
  /**
   * Your own mail servers that have judged a mail before, whose `Authentication-Results` (RFC 8601) count. Each
   * must remove fields of others under its name.
   */
  upstreams: z
    .array(
      z.strictObject({
        /** Its name in `Authentication-Results`, as the server spells it. */
        authserv_id: z.string().regex(/^[^\s;="()]+$/, 'must be a plain name'),
        /** The endpoint that it brings mail by. */
        endpoint: z.enum(['listen', 'inbound']),
      }),
    )
    .default([]),
  /**
   * Mail without a proof whose author's domain asks for refusal: `refuse` tells the peer, `quarantine` accepts it and
   * keeps it from the agents.
   */
  dmarc_reject: z.enum(['refuse', 'quarantine']).default('refuse'),
  /** RSA keys shorter than this prove nothing (RFC 8301 asks for 2048 of signers and 1024 of verifiers). */
  min_key_bits: z.number().int().min(1024).default(1024),
})

export type MailTrust = z.infer<typeof mailTrustSchema>
