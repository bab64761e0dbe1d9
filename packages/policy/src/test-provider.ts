import type { Desk, World } from '@postern/core'
import { parseJsonText, randomHex } from '@postern/core'
import type { JWK } from 'jose'
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import type { PaymentProvider } from './payment-provider.ts'
import { demandOfReceipt, receiptType, verifyReceipt } from './receipt.ts'

export interface TestProviderParts {
  readonly desk: Pick<Desk, 'secret'>
  readonly world: Pick<World, 'now' | 'randomBytes'>
  readonly origin: string
}

const lastsSeconds = 300

/** Takes nobody's money: its receipts are signed with a key of the house, and checked like those of any other. */
export async function openTestProvider({ desk, world, origin }: TestProviderParts): Promise<PaymentProvider> {
  const secret = parseJsonText(await desk.secret('test-payments', makeKey)) as JWK
  const { d: _, ...open } = secret
  const signingKey = await importJWK(secret, 'EdDSA')
  const publicKey = (await importJWK(open, 'EdDSA')) as CryptoKey
  const issuer = `${origin}/payments/test`
  const rules = { issuer, audience: origin, findKey: async () => publicKey, now: () => world.now() }
  return {
    name: 'test',
    demandOf: demandOfReceipt,
    verifyReceipt: (receipt, demand) => verifyReceipt(receipt, demand, rules),
    payNow({ id, policy: { amount, currency } }) {
      const iat = Math.floor(world.now() / 1000)
      return new SignJWT({ demand: id, amount, currency })
        .setProtectedHeader({ alg: 'EdDSA', typ: receiptType })
        .setIssuer(issuer)
        .setAudience(origin)
        .setJti(randomHex(world, 16))
        .setIssuedAt(iat)
        .setExpirationTime(iat + lastsSeconds)
        .sign(signingKey)
    },
  }
}

async function makeKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true })
  return JSON.stringify(await exportJWK(privateKey))
}
