// Checks the passwords, signatures and times of webhooks, and refuses used tokens.
import type { KeyObject } from 'node:crypto'
import { createHash, createHmac, createPublicKey, hash, timingSafeEqual, verify } from 'node:crypto'
import type { System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { SingleUseStore } from '@postern/pipeline'

/** Compares two texts in time that depends on neither their content nor the position of a difference. */
export function isSameText(left: string, right: string): boolean {
  return timingSafeEqual(hash('sha256', left, 'buffer'), hash('sha256', right, 'buffer'))
}

/** The user and the password of HTTP Basic authentication. */
export interface BasicCredentials {
  readonly user: string
  readonly password: string
}

/**
 * Refuses a request without this user and password (RFC 7617).
 * @throws Rejection `unsigned`
 */
export function checkBasicCredentials(headers: Headers, { user, password }: BasicCredentials): void {
  const credentials = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  const text = Buffer.from(credentials, 'base64').toString('utf8')
  if (!isSameText(text, `${user}:${password}`)) throw createUnsignedRejection('wrong or missing user and password')
}

/**
 * Checks that `signature` is the HMAC-SHA256 of `data`, in hex.
 * @throws Rejection `unsigned` without a signature, `signature_invalid` for a wrong one
 */
export function checkHexHmac(signature: string | null | undefined, data: string | Buffer, secret: string): void {
  const expectedMac = createHmac('sha256', secret).update(data).digest('hex')
  if (!signature) throw createUnsignedRejection('it is not signed')
  if (!isSameText(signature.toLowerCase(), expectedMac)) throw createSignatureRejection()
}

/**
 * Checks that `signature` (base64) is a SHA-256 signature of `data` by this key.
 * @throws Rejection `unsigned` without a signature, `signature_invalid` for a wrong one
 */
export function checkPublicSignature(signature: string | null, data: Buffer, key: KeyObject): void {
  if (!signature) throw createUnsignedRejection('it is not signed')
  if (!verify('sha256', data, key, Buffer.from(signature, 'base64'))) throw createSignatureRejection()
}

/**
 * Refuses a request whose header lacks this field.
 * @throws Rejection `unsigned`
 */
export function checkIsSigned(headers: Headers, field: string): void {
  if (!headers.get(field)) throw createUnsignedRejection('it is not signed')
}

/**
 * Reads a public key in PEM, or in the base64 of its DER as `p=` of a DKIM record contains it.
 * @throws Error if the text is not a public key
 */
export function readPublicKey(text: string): KeyObject {
  if (text.includes('-----BEGIN')) return createPublicKey(text)
  return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
}

/**
 * Checks that a webhook's time, in seconds since the epoch as the webhook wrote it, is within the window around now.
 * @throws Rejection `expired`
 */
export function checkWebhookTime(seconds: string, now: number, window: { pastMs: number; aheadMs: number }): void {
  const sentAt = /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : Number.NaN
  if (!(sentAt > now - window.pastMs && sentAt < now + window.aheadMs)) {
    throw new Rejection('expired', 'Cannot accept webhook: its time is too far from now')
  }
}

function createUnsignedRejection(reason: string): Rejection {
  return new Rejection('unsigned', `Cannot accept webhook: ${reason}`)
}

/** Creates the rejection of a webhook with a wrong signature. */
export function createSignatureRejection(): Rejection {
  return new Rejection('signature_invalid', 'Cannot accept webhook: its signature is wrong')
}

/**
 * The maximum number of tokens in memory, which is more than arrive within a window. Beyond this number, the oldest
 * tokens are forgotten.
 */
const maxTokens = 100_000

/**
 * Creates the memory of the webhook tokens that were accepted, so that none is accepted twice. It remembers a token for
 * `windowMs`, which is its validity. After a restart, and in another process, a repeated webhook is accepted, and its
 * mail is a duplicate.
 */
export function createSeenTokens(system: SingleUseStore & Pick<System, 'now'>, windowMs: number) {
  const expiryByToken = new Map<string, number>()
  const createReplayRejection = () =>
    new Rejection('replayed', 'Cannot accept webhook: this webhook was received already')

  function dropExpiredTokens(): void {
    for (const [token, expiresAt] of expiryByToken) {
      if (expiresAt > system.now() && expiryByToken.size <= maxTokens) break
      expiryByToken.delete(token)
    }
  }

  return {
    /**
     * Refuses a token that is remembered.
     * @throws Rejection `replayed`
     */
    check(token: string): void {
      if ((expiryByToken.get(token) ?? 0) > system.now()) throw createReplayRejection()
    },
    /**
     * Binds a token to its first content, because the signature of the token does not cover the content.
     * @throws Rejection `replayed` if the token was used with other content
     */
    async bind(token: string, content: readonly (string | Uint8Array)[]): Promise<void> {
      const expiresAt = system.now() + windowMs
      const isFirst = await system.consumeOnce(`mail webhook ${token}`, expiresAt)
      const isOtherContent = await system.consumeOnce(`mail webhook ${token} ${digestAll(content)}`, expiresAt)
      // A retry after a failure has the same content.
      if (!isFirst && isOtherContent) throw createReplayRejection()
    },
    remember(token: string): void {
      expiryByToken.set(token, system.now() + windowMs)
      dropExpiredTokens()
    },
  }
}

function digestAll(content: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const piece of content) hash.update(`${piece.length}:`).update(piece)
  return hash.digest('base64url')
}
