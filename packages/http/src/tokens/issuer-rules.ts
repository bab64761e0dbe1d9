// Describes the rules by which channels accept access tokens, and joins those of two channels.
import { z } from 'zod'

/** The accepted algorithms. All are asymmetric, because a shared secret proves nothing to a third party, and `none` proves nothing at all. */
export const tokenAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const

/** Rules for the tokens of one issuer, in the configuration of every channel with tokens. */
export const issuerRuleShape = {
  /** Accept only `typ: at+jwt` (RFC 9068). */
  require_at_jwt: z.boolean().default(false),
  /** Require a scope in its tokens for each operation. By default only tokens that name a scope of the gateway are limited to their scopes. */
  require_scopes: z.boolean().default(false),
  /** Accept only tokens that are bound to a key (RFC 9449). A bound token always needs its proof. */
  require_dpop: z.boolean().default(false),
  /** Accept each of its tokens only once, by its `jti`. */
  single_use: z.boolean().default(false),
}

/** The rules by which a channel reads tokens of all issuers. */
export const tokenRuleShape = {
  /** DPoP proofs must contain our nonce (RFC 9449 §8). */
  dpop_nonce: z.boolean().default(false),
  /** The maximum difference between clocks, in seconds. */
  clock_tolerance_seconds: z.number().int().min(0).max(60).default(30),
}

export type IssuerRules = z.infer<z.ZodObject<typeof issuerRuleShape>>
export type TokenRules = z.infer<z.ZodObject<typeof tokenRuleShape>>

export interface TokenAuth extends TokenRules {
  readonly issuers: readonly (IssuerRules & { readonly issuer: string })[]
}

/**
 * Joins the rules of `auth` with those of another channel. An issuer that both trust must meet the rules of both, so no channel accepts a token that
 * the other refuses. For a shared issuer the stricter clock and nonce rules count.
 */
export function joinTokenRules<Auth extends TokenAuth>(auth: Auth, otherAuth: TokenAuth): Auth {
  const issuersByName = new Map(otherAuth.issuers.map(issuer => [issuer.issuer, issuer]))
  if (!auth.issuers.some(({ issuer }) => issuersByName.has(issuer))) return auth
  return {
    ...auth,
    dpop_nonce: auth.dpop_nonce || otherAuth.dpop_nonce,
    clock_tolerance_seconds: Math.min(auth.clock_tolerance_seconds, otherAuth.clock_tolerance_seconds),
    issuers: auth.issuers.map(issuer => ({ ...issuer, ...joinIssuerRules(issuer, issuersByName.get(issuer.issuer)) })),
  }
}

function joinIssuerRules(rules: IssuerRules, otherRules: IssuerRules | undefined): Partial<IssuerRules> {
  const names = Object.keys(issuerRuleShape) as (keyof IssuerRules)[]
  return Object.fromEntries(names.map(name => [name, rules[name] || otherRules?.[name] === true]))
}
