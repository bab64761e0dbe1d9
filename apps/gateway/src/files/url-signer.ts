// Signs the URLs of stored files, and checks their tokens.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { Rejection } from '@postern/message'
import type { SecretRing } from '@postern/pipeline'

interface UrlSignerOptions {
  readonly origin: string
  readonly secret: SecretRing
  readonly now: () => number
}

export interface FileUrlSigner {
  /** Returns the URL of a stored file, valid until `expiresAt`, ms since 1970 UTC. */
  signUrl(digest: string, expiresAt: number, base?: string): string
  /** Checks that a token allows access to a file. @throws Rejection forbidden */
  checkToken(digest: string, token: string): void
}

/** Creates the signer. Every key of the ring verifies, and the newest one signs. */
export function createFileUrlSigner({ origin, secret, now }: UrlSignerOptions): FileUrlSigner {
  const listSignatures = (digest: string, expiresAt: number) =>
    secret.list().map(key => createHmac('sha256', key).update(`${digest}.${expiresAt}`).digest('base64url'))
  return {
    signUrl: (digest, expiresAt, base = origin) =>
      `${base}/attachments/${digest}?token=${expiresAt}.${listSignatures(digest, expiresAt)[0]}`,
    checkToken(digest, token) {
      const [expiresAt = '', signature = ''] = token.split('.')
      const claimedSignature = Buffer.from(signature)
      const expectedSignatures = listSignatures(digest, Number(expiresAt)).map(expectedSignature =>
        Buffer.from(expectedSignature),
      )
      const isValid = expectedSignatures.some(
        expectedSignature =>
          claimedSignature.length === expectedSignature.length && timingSafeEqual(claimedSignature, expectedSignature),
      )
      if (!isValid) throw new Rejection('forbidden', 'Cannot read attachment: the token is not valid')
      if (Number(expiresAt) < now()) throw new Rejection('forbidden', 'Cannot read attachment: the token has expired')
    },
  }
}
