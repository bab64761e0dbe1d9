// Opens the payment provider: an external one that signs receipts, or the built-in test provider.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadJose } from '@postern/http/tokens'
import type { System } from '@postern/message'
import { ConfigError, parseJsonText, Rejection, randomHex } from '@postern/message'
import type { RequirementRecord, Store, UsedReceipt } from '@postern/pipeline'
import type { JSONWebKeySet, JWK } from 'jose'
import type { PaymentsConfig } from '../config.ts'
import type { FindKey } from './receipt.ts'
import { receiptType, requirementOfReceipt, verifyReceipt } from './receipt.ts'

/** The party that receives money for the gateway's agents. It signs its receipts, which the gateway verifies. */
export interface PaymentProvider {
  readonly name: string
  /** Returns the address at which a person pays, or undefined if there is none. */
  checkoutUrl?(requirement: RequirementRecord, returnUrl: string): string | undefined
  /** Reads the requirement that a receipt names, before anything in the receipt is proven. Returns undefined if the receipt names none. */
  requirementOf(receipt: string): string | undefined
  /**
   * Verifies a receipt.
   * @throws Rejection with a specific sentence for each error
   */
  verifyReceipt(receipt: string, requirement: RequirementRecord): Promise<UsedReceipt>
  /** Pays without money, for tests. Returns a receipt, which is verified like those of other providers. */
  payNow?(requirement: RequirementRecord): Promise<string>
}

type ReceiptConfig = Extract<PaymentsConfig, { use: 'receipt' }>

interface ProviderContext {
  readonly origin: string
  /** The folder against which relative paths are resolved. */
  readonly baseDir: string
  readonly now: System['now']
}

/**
 * Opens an external provider, which signs its receipts.
 * @throws ConfigError if its keys cannot be read
 */
export async function openReceiptProvider(
  config: ReceiptConfig,
  { origin, baseDir, now }: ProviderContext,
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
  const configKey = jwks_file === undefined ? 'payments.jwk' : 'payments.jwks_file'
  const keySet = jwks_file === undefined ? { keys: [jwk as JWK] } : readKeyFile(resolve(baseDir, jwks_file))
  const keys: readonly JWK[] = Array.isArray(keySet.keys) ? keySet.keys : []
  if (keys.length === 0)
    throw new ConfigError(configKey, 'holds no key', 'Put the public keys of the payment provider there.')
  if (keys.some(({ kty, d, k }) => !['OKP', 'EC', 'RSA'].includes(kty ?? '') || d !== undefined || k !== undefined)) {
    throw new ConfigError(
      configKey,
      'holds a key that is not public',
      'Put only public keys of kty OKP, EC or RSA there.',
    )
  }
  const { createLocalJWKSet } = await loadJose()
  try {
    return createLocalJWKSet({ keys: [...keys] }) as FindKey
  } catch (cause) {
    throw new ConfigError(configKey, 'is no key set', 'Put a JWK Set (RFC 7517) there.', { cause })
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
  readonly store: Pick<Store, 'openSecret'>
  readonly system: Pick<System, 'now' | 'randomBytes'>
  readonly origin: string
}

const receiptLifetimeSeconds = 300

/** Opens a provider that receives no money. Its receipts are signed with a key of the gateway, and verified like those of other providers. */
export async function openTestProvider({ store, system, origin }: TestProviderDeps): Promise<PaymentProvider> {
  const { SignJWT } = await loadJose()
  const secret = await store.openSecret('test-payments')
  const listKeys = () => secret.list().map(readTestKey)
  const issuer = `${origin}/payments/test`
  const findKey: FindKey = async header => findTestKey(listKeys(), header?.kid).publicKey
  const rules = { issuer, audience: origin, findKey, now: () => system.now() }
  return {
    name: 'test',
    requirementOf: requirementOfReceipt,
    verifyReceipt: (receipt, requirement) => verifyReceipt(receipt, requirement, rules),
    payNow({ id, policy: { amount, currency } }) {
      const iat = Math.floor(system.now() / 1000)
      const { kid, privateKey } = findTestKey(listKeys())
      return new SignJWT({ requirement: id, amount, currency })
        .setProtectedHeader({ alg: 'EdDSA', typ: receiptType, kid })
        .setIssuer(issuer)
        .setAudience(origin)
        .setJti(randomHex(system, 16))
        .setIssuedAt(iat)
        .setExpirationTime(iat + receiptLifetimeSeconds)
        .sign(privateKey)
    },
  }
}

interface TestKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** The bytes that precede the 32 bytes of an Ed25519 key (RFC 8410 §7). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Reads the test key. The secret is the seed of the key, or a JWK that an earlier release stored. */
function readTestKey(text: string): TestKey {
  const seed = text.startsWith('{') ? ((parseJsonText(text) as JWK).d ?? '') : text
  const der = Buffer.concat([pkcs8Prefix, Buffer.from(seed, 'base64url')])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey)
  return { kid: hash('sha256', publicKey.export({ format: 'der', type: 'spki' }), 'base64url'), privateKey, publicKey }
}

/** Finds a test key by its id, or the newest test key without an id. */
function findTestKey(keys: readonly TestKey[], kid?: string): TestKey {
  const testKey = keys.find(key => kid === undefined || key.kid === kid)
  if (!testKey) throw new Rejection('forbidden', 'Cannot take receipt: its key does not count any more')
  return testKey
}
