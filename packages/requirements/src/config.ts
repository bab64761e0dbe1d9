// Declares the configuration of requirements and of the payment provider.
import { z } from 'zod'

/** The configuration of agents' requirements, and of the time for a decision. */
export const requirementsConfigSchema = z.strictObject({
  /** The number of hours for the decision of a requirement, unless the agent sets another time. */
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
      /** The kind of payment. `receipt`: the payment provider signs a receipt, a compact JWS. `builtin:test` (dev mode only): a click pays. */
      use: z.literal('receipt'),
      /** The `iss` of the receipts. */
      issuer: z.string().min(1),
      /** The public key that verifies receipts. Set either this or `jwks_file`. */
      jwk: z.record(z.string(), z.unknown()).optional(),
      /** The file with a set of public keys that verify receipts. */
      jwks_file: z.string().optional(),
      /** The page where people pay. Its query gets `requirement`, `amount`, `currency` and `return_url`. */
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
