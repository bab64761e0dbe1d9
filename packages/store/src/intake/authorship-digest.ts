// Names an authored object of one agent by a digest.
import { hash } from 'node:crypto'
import type { Intake } from '@postern/pipeline'

/** Returns the digest of an author, an object and an agent, which names the author's text for that agent. */
export function digestAuthorship({ agent, authorship, message: { received_via: via } }: Intake): string | undefined {
  if (!authorship) return undefined
  return hash('sha256', JSON.stringify([agent, via, authorship.author, authorship.object]), 'base64')
}
