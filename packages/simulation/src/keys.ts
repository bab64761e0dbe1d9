// Generates RSA keys for simulated senders when they are first needed.
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

const generate = promisify(generateKeyPair)

/** An RSA key pair in PEM (PKCS #8 and SPKI). */
export interface RsaKey {
  readonly privatePem: string
  readonly publicPem: string
}

/** Creates a key on the first call, off the main thread, and returns the same key from then on. */
export function createLazyRsaKey(): () => Promise<RsaKey> {
  let key: Promise<RsaKey> | undefined
  return () => {
    key ??= generateRsaKey()
    return key
  }
}

async function generateRsaKey(): Promise<RsaKey> {
  const { privateKey, publicKey } = await generate('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { privatePem: privateKey, publicPem: publicKey }
}
