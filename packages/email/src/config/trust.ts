import { z } from 'zod'

/** Whose word is believed about who wrote a mail. */
export const mailTrustSchema = z.strictObject({
  /** An author whose DMARC passes by SPF alone counts as verified. Everybody on a shared host has that. */
  spf_only: z.boolean().default(false),
  /** Domains whose ARC seal is believed when it says that DMARC passed before a list changed the mail (RFC 8617). */
  arc_sealers: z.array(z.string().min(1).toLowerCase()).default([]),
  /**
   * Mail servers of your own whose `Authentication-Results` are believed (RFC 8601). Each must take out what others wrote under its name.
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
  /** Mail without a proof whose author's domain asks for refusal: `refuse` says so to the peer, `quarantine` takes it and keeps it from the agents. */
  dmarc_reject: z.enum(['refuse', 'quarantine']).default('refuse'),
  /** RSA keys shorter than this prove nothing (RFC 8301 asks for 2048 of signers and 1024 of verifiers). */
  min_key_bits: z.number().int().min(1024).default(1024),
})

export type MailTrust = z.infer<typeof mailTrustSchema>
