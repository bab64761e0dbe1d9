import { generateKeyPairSync } from 'node:crypto'

export interface TestKey {
  readonly privatePem: string
  /** SPKI. */
  readonly publicPem: string
}

/** More names than these share keys. */
const keysInTurn = 32

const made = new Map<string, TestKey>()

/** An RSA key of that name, made once per test file: they cost more than anything else here. */
export function testKey(name: string, modulusLength = 2048): TestKey {
  const known = made.get(name)
  if (known) return known
  const others = new Set([...made.values()].map(({ publicPem }) => publicPem))
  let key = makeKey(modulusLength)
  // A process gives out few keys in turn (`tools/reused-keys.ts`): two names would share one.
  for (let tries = 0; others.has(key.publicPem) && tries < keysInTurn; tries += 1) key = makeKey(modulusLength)
  made.set(name, key)
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
