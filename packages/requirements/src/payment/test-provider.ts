import type { Platform, Store } from '@postern/core'
import { parseJsonText, randomHex } from '@postern/core'
import { loadJose } from '@postern/http/tokens'
import type { JWK } from 'jose'
import type { PaymentProvider } from './provider.ts'
import { receiptType, requirementOfReceipt, verifyReceipt } from './receipt.ts'

interface TestProviderDeps {
  readonly store: Pick<Store, 'secret'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly origin: string
}

const lastsSeconds = 300

/** Takes nobody's money: its receipts are signed with a key of the gateway, and checked like those of any other. */
export async function openTestProvider({ store, platform, origin }: TestProviderDeps): Promise<PaymentProvider> {
  const { importJWK, SignJWT } = await loadJose()
  const secret = parseJsonText(await store.secret('test-payments', makeKey)) as JWK
  const { d: _, ...open } = secret
  const signingKey = await importJWK(secret, 'EdDSA')
  const publicKey = (await importJWK(open, 'EdDSA')) as CryptoKey
  const issuer = `${origin}/payments/test`
  const rules = { issuer, audience: origin, findKey: async () => publicKey, now: () => platform.now() }
  return {
    name: 'test',
    requirementOf: requirementOfReceipt,
    verifyReceipt: (receipt, requirement) => verifyReceipt(receipt, requirement, rules),
    payNow({ id, policy: { amount, currency } }) {
      const iat = Math.floor(platform.now() / 1000)
      return new SignJWT({ requirement: id, amount, currency })
        .setProtectedHeader({ alg: 'EdDSA', typ: receiptType })
        .setIssuer(issuer)
        .setAudience(origin)
        .setJti(randomHex(platform, 16))
        .setIssuedAt(iat)
        .setExpirationTime(iat + lastsSeconds)
        .sign(signingKey)
    },
  }
}

async function makeKey(): Promise<string> {
  const { exportJWK, generateKeyPair } = await loadJose()
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true })
  return JSON.stringify(await exportJWK(privateKey))
}
