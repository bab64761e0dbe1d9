// Replaces names by digests in keys that protect a person or limit senders.
import { hash } from 'node:crypto'

/** Returns the digest that replaces a name in a key that outlives the messages of its owner. No name begins with the prefix of the digest. */
export function digestName(name: string): string {
  return `sha256:${hash('sha256', name, 'base64url')}`
}
