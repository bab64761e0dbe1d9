// Provides RSA keys by name.
import { generateKeyPairSync } from 'node:crypto'

export interface TestKey {
  readonly privatePem: string
  /** The public key as SPKI in PEM. */
  readonly publicPem: string
}

/** The number of names that have different keys. */
const keysInTurn = 32

const keysByName = new Map<string, TestKey>()

/** Returns the RSA key with a name. It is made once per test file, because making keys is the slowest step. */
export function testKey(name: string, modulusLength = 2048): TestKey {
  const testKey = keysByName.get(name)
  if (testKey) return testKey
  const otherKeys = new Set([...keysByName.values()].map(({ publicPem }) => publicPem))
  let key = makeKey(modulusLength)
  // A process hands out a few keys in turn (`tools/reused-keys.ts`), so two names could get the same key.
  for (let tries = 0; otherKeys.has(key.publicPem) && tries < keysInTurn; tries += 1) key = makeKey(modulusLength)
  keysByName.set(name, key)
  return key
}

function makeKey(modulusLength: number): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { privatePem: privateKey, publicPem: publicKey }
}
