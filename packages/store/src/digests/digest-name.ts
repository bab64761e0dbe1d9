// Replaces names by digests in keys that protect a person or limit senders.
import { hash } from 'node:crypto'

/** Returns the digest that replaces a name in a key that outlives its owner's messages. It cannot equal a name, because no name begins with its prefix. */
export function digestName(name: string): string {
  return `sha256:${hash('sha256', name, 'base64url')}`
}
