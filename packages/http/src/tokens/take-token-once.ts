import { Rejection } from '@postern/core'
import { ownerOf } from './principal.ts'
import type { SingleUses } from './single-uses.ts'
import type { VerifiedToken } from './verify-token.ts'

/** Longest life of a single-use token, which the gateway remembers to its end. */
const singleUseMs = 15 * 60_000

/**
 * Uses a token up in the whole gateway, in all channels. @throws Rejection `replayed`; `signature_invalid` when it has no id or lives too
 * long; Unavailable
 */
export async function takeTokenOnce(
  { issuer, principal, tokenId, expiresAt }: VerifiedToken,
  seen: SingleUses,
  now: number,
): Promise<void> {
  const refuse = (problem: string) => new Rejection('signature_invalid', `Cannot verify token: ${problem}`)
  if (tokenId === undefined) throw refuse('it is for one use and has no jti')
  if (expiresAt > now + singleUseMs) throw refuse('it is for one use and lives too long')
  // The tolerance admits it a little after its end.
  const id = `jwt ${issuer.config.issuer} ${tokenId}`
  if (await seen.take({ id, owner: ownerOf(principal), until: expiresAt + 60_000 })) return
  throw new Rejection('replayed', 'Cannot verify token: it was used before')
}
