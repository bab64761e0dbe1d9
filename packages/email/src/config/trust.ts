import { z } from 'zod'

/** Whose word is believed about who wrote a mail. */
export const mailTrustSchema = z.strictObject({
  /** An author whose DMARC passes by SPF alone counts as verified. Everybody on a shared host has that. */
  spf_only: z.boolean().default(false),
  /** Domains whose ARC seal is believed when it says that DMARC passed before a list changed the mail (RFC 8617). */
  arc_sealers: z.array(z.string().min(1).toLowerCase()).default([]),
  /**
   * Mail servers of the operator's own that have judged a mail before: their name in `Authentication-Results` (RFC 8601), spelled as they spell it, and the
   * endpoint they bring it by. Each must take out what others wrote under its name.
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

export type MailTrust = z.infer<typeof mailTrustSchema>
