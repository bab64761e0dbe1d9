// Signs and checks the passes by which the gateway recognizes its own test requests, whose refusals it does not list.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FetchRequest, GuardedFetch } from '@postern/message'
import type { SecretStore, SelfTestOutcome } from '@postern/pipeline'

/** The header field that carries a pass. */
export const rehearsalField = 'postern-rehearsal'

/** The time that a pass is valid, ms: enough for a request to the public address and back. */
const validMs = 30_000

export interface Rehearsals {
  /** Adds a new pass to each request of a fetch. `end` is the expected end of the request. */
  withPass(fetch: GuardedFetch, end: SelfTestOutcome): GuardedFetch
  /** Uses up a pass. Returns the expected end of its request if this gateway signed the pass, the pass is still valid, and nobody has used it here. */
  consume(pass: string): SelfTestOutcome | undefined
}

/**
 * Opens the passes. Their key is in the store, because any of several gateways at one address may get the request. Strangers can neither make nor
 * reuse a pass.
 */
export async function openRehearsals(store: Pick<SecretStore, 'openSecret'>, now: () => number): Promise<Rehearsals> {
  const secret = await store.openSecret('rehearsals')
  const listSignatures = (claim: string) => secret.list().map(key => createHmac('sha256', key).update(claim).digest())
  const usedClaims = new Map<string, number>()

  function createPass(end: SelfTestOutcome): string {
    const claim = `${end}.${now() + validMs}.${randomBytes(12).toString('base64url')}`
    return `${claim}.${listSignatures(claim)[0]?.toString('base64url')}`
  }

  return {
    withPass:
      (fetch, end) =>
      (url, request: FetchRequest = {}) =>
        fetch(url, { ...request, headers: { ...request.headers, [rehearsalField]: createPass(end) } }),
    consume(pass) {
      const [, claim = '', end, expiresAtMs, mac = ''] =
        /^((refused|taken)\.(\d{13,15})\.[\w-]{16})\.([\w-]{43})$/.exec(pass) ?? []
      const signature = Buffer.from(mac, 'base64url')
      if (
        claim === '' ||
        !listSignatures(claim).some(expectedSignature => timingSafeEqual(signature, expectedSignature))
      )
        return undefined
      for (const [usedClaim, expiresAt] of usedClaims) if (expiresAt < now()) usedClaims.delete(usedClaim)
      if (Number(expiresAtMs) < now() || usedClaims.has(claim)) return undefined
      usedClaims.set(claim, Number(expiresAtMs))
      return end as SelfTestOutcome
    },
  }
}
