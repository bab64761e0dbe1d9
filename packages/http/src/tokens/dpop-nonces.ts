import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Platform, Store } from '@postern/core'

/** Nonces for proofs (RFC 9449 §8, §9). They are the same in every process of the gateway, and none is stored. */
export interface DpopNonces {
  current(): Promise<string>
  /** Whether it is the present nonce or the one before. */
  accepts(nonce: string): Promise<boolean>
}

const spanMs = 5 * 60_000

interface NonceDeps {
  readonly store: Pick<Store, 'secret'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
}

export function createDpopNonces({ store, platform }: NonceDeps): DpopNonces {
  const key = () =>
    store.secret('a2a:dpop-nonce', async () => Buffer.from(platform.randomBytes(32)).toString('base64url'))
  const nonceOf = async (span: number) =>
    createHmac('sha256', await key())
      .update(String(span))
      .digest('base64url')
      .slice(0, 27)
  const spanNow = () => Math.floor(platform.now() / spanMs)
  return {
    current: () => nonceOf(spanNow()),
    async accepts(nonce) {
      const given = Buffer.from(nonce)
      const spans = [spanNow(), spanNow() - 1]
      const matches = await Promise.all(spans.map(async span => isSame(given, Buffer.from(await nonceOf(span)))))
      return matches.includes(true)
    },
  }
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected)
}
