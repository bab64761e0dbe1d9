import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { paymentsConfigSchema, requirementsConfigSchema } from '../src/index.ts'
import { openReceiptProvider } from '../src/payment/provider.ts'
import { openRequirementsGateway, pagesOrigin } from './gateway.ts'

const issuer = 'https://pay.test'
const context = { origin: pagesOrigin, baseDir: mkdtempSync(join(tmpdir(), 'postern-keys-')), now: Date.now }

async function makeKeys(algorithm: string) {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { privateKey, open: await exportJWK(publicKey), secret: await exportJWK(privateKey) }
}

function writeKeys(name: string, text: string): string {
  writeFileSync(join(context.baseDir, name), text)
  return name
}

test.each(['EdDSA', 'ES256', 'RS256'])(
  'the gateway accepts receipts with a signature by %s, from a key file with several keys',
  async algorithm => {
    const [keys, otherKeys] = [await makeKeys(algorithm), await makeKeys(algorithm)]
    const file = {
      keys: [
        { ...otherKeys.open, kid: 'old' },
        { ...keys.open, kid: 'new' },
      ],
    }
    const jwks_file = writeKeys(`${algorithm}.json`, JSON.stringify(file))
    const provider = await openReceiptProvider({ use: 'receipt', issuer, jwks_file }, context)
    const gateway = await openRequirementsGateway()
    const { planned } = await gateway.requirement('payment_required', { amount: '007.10', currency: 'EUR' })
    const requirement = await gateway.store.findRequirement({ id: planned.id })
    if (!requirement) throw new Error('nothing is required')
    const receipt = await new SignJWT({ requirement: requirement.id, amount: '7.1', currency: 'EUR' })
      .setProtectedHeader({ alg: algorithm, kid: 'new', typ: 'receipt+jwt' })
      .setIssuer(issuer)
      .setAudience([pagesOrigin, 'https://else.test'])
      .setJti('1')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(keys.privateKey)
    expect(provider.requirementOf(receipt)).toBe(requirement.id)
    expect(await provider.verifyReceipt(receipt, requirement)).toEqual({
      key: `["${issuer}","1"]`,
      provider: issuer,
      reference: '1',
    })
    expect(provider.checkoutUrl?.(requirement, `${pagesOrigin}/back`)).toBeUndefined()
    await gateway.close()
  },
)

test('the start fails with the names of unusable keys', async () => {
  const { open, secret } = await makeKeys('ES256')
  const openWith = (keys: object) => openReceiptProvider({ use: 'receipt', issuer, ...keys }, context)
  await expect(openWith({ jwk: secret })).rejects.toThrow('payments.jwk: holds a key that is not public')
  await expect(openWith({ jwk: { kty: 'oct', k: 'c2VjcmV0' } })).rejects.toThrow(
    'payments.jwk: holds a key that is not public',
  )
  await expect(openWith({ jwks_file: 'none.json' })).rejects.toThrow(
    /^payments\.jwks_file: cannot read ".*none\.json" as JSON/,
  )
  await expect(openWith({ jwks_file: writeKeys('empty.json', '{"keys":[]}') })).rejects.toThrow(
    'payments.jwks_file: holds no key',
  )
  await expect(openWith({ jwks_file: writeKeys('one.json', JSON.stringify(open)) })).rejects.toThrow(
    'payments.jwks_file: holds no key',
  )
})

test('the configuration refuses unknown members', () => {
  const problemOf = (value: unknown) => paymentsConfigSchema.safeParse(value).error?.issues[0]?.message
  expect(problemOf({ use: 'receipt', issuer })).toBe('needs either "jwk" or "jwks_file"')
  expect(problemOf({ use: 'receipt', issuer, jwk: {}, jwks_file: 'x' })).toBe('needs either "jwk" or "jwks_file"')
  expect(problemOf({ use: 'receipt', issuer, jwk: {}, checkout_url: 'http://pay.test' })).toBeDefined()
  expect(problemOf({ use: 'stripe' })).toBeDefined()
  expect(requirementsConfigSchema.parse({})).toEqual({ expires_after_hours: 24 })
})

test('states have 256 bits, are unique, and stay the same on every page', async () => {
  const gateway = await openRequirementsGateway()
  const { stateOf, digestOf } = gateway.requirements.states
  const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]
  expect(stateOf(a)).toMatch(/^[\w-]{43}$/)
  expect(stateOf(a)).toBe(stateOf(a))
  expect(stateOf(a)).not.toBe(stateOf(b))
  expect(digestOf(stateOf(a))).toMatch(/^[0-9a-f]{64}$/)
  const other = await openRequirementsGateway()
  expect(other.requirements.states.stateOf(a)).not.toBe(stateOf(a))
  await Promise.all([gateway.close(), other.close()])
})
