// Creates Ed25519 keys that are the same in each run.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, hash } from 'node:crypto'

/** PKCS#8 of an Ed25519 key up to its 32 secret bytes (RFC 8410 §7). */
const ed25519Header = Buffer.from('302e020100300506032b657004220420', 'hex')

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** Creates a key that is the same each time. It protects nothing, because everybody can create it. */
export function makeTestKey(name: string): KeyPair {
  const der = Buffer.concat([ed25519Header, hash('sha256', `postern fixture ${name}`, 'buffer')])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return { privateKey, publicKey: createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' })) }
}
