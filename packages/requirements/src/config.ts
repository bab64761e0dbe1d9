// Declares the configuration of requirements and of the payment provider.
import { z } from 'zod'

/** The configuration of agents' requirements, and of the time for a decision. */
export const requirementsConfigSchema = z.strictObject({
  /** Hours in which somebody may decide a requirement, unless the agent says how long. */
  expires_after_hours: z
    .number()
    .positive()
    .max(30 * 24)
    .default(24),
})

/** The party that confirms payments. */
export const paymentsConfigSchema = z.discriminatedUnion('use', [
  z
    .strictObject({
      /** `receipt`: whoever takes the money signs a receipt, a compact JWS; `builtin:test` (dev mode only) pays at a click. */
      use: z.literal('receipt'),
      /** The `iss` of the receipts. */
      issuer: z.string().min(1),
      /** The public key that receipts are signed with; either this or `jwks_file`. */
      jwk: z.record(z.string(), z.unknown()).optional(),
      /** File with a set of such keys. */
      jwks_file: z.string().optional(),
      /** Page where people pay; it gets `requirement`, `amount`, `currency` and `return_url`. */
      checkout_url: z.url({ protocol: /^https$/ }).optional(),
    })
    .refine(({ jwk, jwks_file }) => (jwk === undefined) !== (jwks_file === undefined), {
      message: 'needs either "jwk" or "jwks_file"',
    }),
  /** Pays with a click and without money, for development only. */
  z.strictObject({ use: z.literal('builtin:test') }),
])

export type RequirementsConfig = z.output<typeof requirementsConfigSchema>
export type PaymentsConfig = z.output<typeof paymentsConfigSchema>
