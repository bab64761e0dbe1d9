import type { KeyObject } from 'node:crypto'
import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import type { OnceStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'

/** In constant time, whatever the lengths. */
export function isSameText(left: string, right: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(left), hash(right))
}

export interface BasicCredentials {
  readonly user: string
  readonly password: string
}

/** @throws Rejection `unsigned` unless the request carries them (RFC 7617) */
export function checkBasicCredentials(headers: Headers, { user, password }: BasicCredentials): void {
  const given = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  const text = Buffer.from(given, 'base64').toString('utf8')
  if (!isSameText(text, `${user}:${password}`)) throw refuseWebhook('wrong or missing user and password')
}

/** @throws Rejection `signature_invalid` unless `signature` is the HMAC-SHA256 of `data`, in lower-case hex */
export function checkHexHmac(signature: string | null | undefined, data: string | Buffer, secret: string): void {
  const expected = createHmac('sha256', secret).update(data).digest('hex')
  if (!signature) throw refuseWebhook('it is not signed')
  if (!isSameText(signature.toLowerCase(), expected)) throw refuseSignature()
}

/** @throws Rejection `signature_invalid` unless `signature` (base64) is one of `data` with SHA-256 by this key */
export function checkPublicSignature(signature: string | null, data: Buffer, key: KeyObject): void {
  if (!signature) throw refuseWebhook('it is not signed')
  if (!verify('sha256', data, key, Buffer.from(signature, 'base64'))) throw refuseSignature()
}

/** @throws Rejection `unsigned` unless the header has this field */
export function checkIsSigned(headers: Headers, field: string): void {
  if (!headers.get(field)) throw refuseWebhook('it is not signed')
}

/** Reads a public key: PEM, or the base64 of its DER, as `p=` of a DKIM record has it. @throws Error when it is none */
export function readPublicKey(text: string): KeyObject {
  if (text.includes('-----BEGIN')) return createPublicKey(text)
  return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
}

/** `seconds` as the webhook wrote them. @throws Rejection `expired` when too far from now */
export function checkWebhookTime(seconds: string, now: number, window: { past: number; ahead: number }): void {
  const at = /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : Number.NaN
  if (!(at > now - window.past && at < now + window.ahead)) {
    throw new Rejection('expired', 'Cannot accept webhook: its time is too far from now')
  }
}

function refuseWebhook(problem: string): Rejection {
  return new Rejection('unsigned', `Cannot accept webhook: ${problem}`)
}

export function refuseSignature(): Rejection {
  return new Rejection('signature_invalid', 'Cannot accept webhook: its signature is wrong')
}

/** More than come in a window; of more, the oldest are forgotten. */
const maxTokens = 100_000

/**
 * Proofs of webhooks that must not count twice. They are remembered for `windowMs`, which is as long as what they prove counts. Only memory
 * distinguishes a retry from a replay. After a restart, or in another process, the same mail is a duplicate.
 */
export function createSeenTokens(platform: OnceStore & Pick<Platform, 'now'>, windowMs: number) {
  const seen = new Map<string, number>()
  const replayed = () => new Rejection('replayed', 'Cannot accept webhook: it was here before')

  function forget(): void {
    for (const [token, until] of seen) {
      if (until > platform.now() && seen.size <= maxTokens) break
      seen.delete(token)
    }
  }

  return {
    /** @throws Rejection `replayed` */
    check(token: string): void {
      if ((seen.get(token) ?? 0) > platform.now()) throw replayed()
    },
    /**
     * For a token whose signature does not cover the content: it is bound to this content for good.
     * @throws Rejection `replayed`
     */
    async bind(token: string, content: readonly (string | Uint8Array)[]): Promise<void> {
      const until = platform.now() + windowMs
      const isFirst = await platform.consumeOnce(`mail webhook ${token}`, until)
      const isOther = await platform.consumeOnce(`mail webhook ${token} ${digestAll(content)}`, until)
      // A try that failed comes again as it was.
      if (!isFirst && isOther) throw replayed()
    },
    remember(token: string): void {
      seen.set(token, platform.now() + windowMs)
      forget()
    },
  }
}

function digestAll(content: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const piece of content) hash.update(`${piece.length}:`).update(piece)
  return hash.digest('base64url')
}
