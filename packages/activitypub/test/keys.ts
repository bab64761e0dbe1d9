import { generateKeyPairSync } from 'node:crypto'

export interface TestKey {
  readonly privatePem: string
  /** SPKI. */
  readonly publicPem: string
}

const made = new Map<string, TestKey>()

/** An RSA key of that name, made once per test file: they cost more than anything else here. */
export function testKey(name: string, modulusLength = 2048): TestKey {
  const known = made.get(name)
  if (known) return known
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const key = { privatePem: privateKey, publicPem: publicKey }
  made.set(name, key)
  return key
}
