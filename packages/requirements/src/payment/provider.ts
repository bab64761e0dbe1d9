import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Platform, RequirementRecord, Store, UsedReceipt } from '@postern/core'
import { ConfigError, parseJsonText, randomHex } from '@postern/core'
import { loadJose } from '@postern/http/tokens'
import type { JSONWebKeySet, JWK } from 'jose'
import type { PaymentsConfig } from '../config.ts'
import type { FindKey } from './receipt.ts'
import { receiptType, requirementOfReceipt, verifyReceipt } from './receipt.ts'

/** Who takes money for the gateway's agents. What the provider says of it is signed, and checked here. */
export interface PaymentProvider {
  readonly name: string
  /** Where a person pays; undefined where there is no such place. */
  checkoutUrl?(requirement: RequirementRecord, returnUrl: string): string | undefined
  /** Which requirement a receipt is for, before anything of it is proven; undefined when it is none. */
  requirementOf(receipt: string): string | undefined
  /** @throws Rejection, for each thing that is wrong with its own sentence */
  verifyReceipt(receipt: string, requirement: RequirementRecord): Promise<UsedReceipt>
  /** Pays with nobody's money, for tests: a receipt that is then checked like any other. */
  payNow?(requirement: RequirementRecord): Promise<string>
}

type ReceiptConfig = Extract<PaymentsConfig, { use: 'receipt' }>

interface ProviderPlace {
  readonly origin: string
  /** Where relative paths start. */
  readonly baseDir: string
  readonly now: Platform['now']
}

/** A provider outside, whose receipts are signed. @throws ConfigError when its keys cannot be read */
export async function openReceiptProvider(
  config: ReceiptConfig,
  { origin, baseDir, now }: ProviderPlace,
): Promise<PaymentProvider> {
  const { issuer, checkout_url } = config
  const rules = { issuer, audience: origin, findKey: await readKeys(config, baseDir), now }
  return {
    name: issuer,
    requirementOf: requirementOfReceipt,
    verifyReceipt: (receipt, requirement) => verifyReceipt(receipt, requirement, rules),
    checkoutUrl({ id, policy }, returnUrl) {
      if (checkout_url === undefined) return undefined
      const url = new URL(checkout_url)
      const { amount, currency } = policy
      const query = { requirement: id, amount: String(amount), currency: String(currency), return_url: returnUrl }
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url.href
    },
  }
}

async function readKeys({ jwk, jwks_file }: ReceiptConfig, baseDir: string): Promise<FindKey> {
  const key = jwks_file === undefined ? 'payments.jwk' : 'payments.jwks_file'
  const set = jwks_file === undefined ? { keys: [jwk as JWK] } : readKeyFile(resolve(baseDir, jwks_file))
  const keys: readonly JWK[] = Array.isArray(set.keys) ? set.keys : []
  if (keys.length === 0)
    throw new ConfigError(key, 'holds no key', 'Put the public keys of the payment provider there.')
  if (keys.some(({ kty, d, k }) => !['OKP', 'EC', 'RSA'].includes(kty ?? '') || d !== undefined || k !== undefined)) {
    throw new ConfigError(key, 'holds a key that is not public', 'Put only public keys of kty OKP, EC or RSA there.')
  }
  const { createLocalJWKSet } = await loadJose()
  try {
    return createLocalJWKSet({ keys: [...keys] }) as FindKey
  } catch (cause) {
    throw new ConfigError(key, 'is no key set', 'Put a JWK Set (RFC 7517) there.', { cause })
  }
}

function readKeyFile(path: string): JSONWebKeySet {
  try {
    return parseJsonText(readFileSync(path, 'utf8')) as JSONWebKeySet
  } catch (cause) {
    throw new ConfigError(
      'payments.jwks_file',
      `cannot read "${path}" as JSON`,
      'Name a file with a JWK Set (RFC 7517).',
      {
        cause,
      },
    )
  }
}

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
