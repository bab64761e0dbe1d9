import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Platform } from '@postern/core'
import { ConfigError, parseJsonText } from '@postern/core'
import { loadJose } from '@postern/http/tokens'
import type { JSONWebKeySet, JWK } from 'jose'
import type { PaymentsConfig } from '../config.ts'
import type { PaymentProvider } from './provider.ts'
import type { FindKey } from './receipt.ts'
import { requirementOfReceipt, verifyReceipt } from './receipt.ts'

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
