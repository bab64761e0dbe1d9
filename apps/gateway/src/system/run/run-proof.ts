/** Proves to a command that the program at a port is the one that wrote the run file, before the command sends a token there. */
import { createHmac, randomBytes } from 'node:crypto'
import { parseIfJson } from '@postern/message'

/** Only this process and readers of its data folder know it. */
export const ownRunSecret: string = randomBytes(32).toString('base64url')

interface RunChallenge {
  /** Made up by the command, 32 bytes in base64url. */
  readonly nonce: string
  /** The address in the run file: another gateway cannot answer for it. */
  readonly url: string
}

/** Returns the only right answer to a challenge. */
export function proveRun(secret: string, { nonce, url }: RunChallenge): string {
  return createHmac('sha256', secret).update(`${nonce} ${url}`).digest('base64url')
}

/** The longest wait for the proof, ms. A gateway under load is slow, and a command would otherwise treat it as not running. */
const patienceMs = 10_000

/** Asks the program at an address for its proof. False: it has none, or does not answer in time. */
export async function isProvenRun({
  url,
  secret,
}: {
  readonly url: string
  readonly secret: string
}): Promise<boolean> {
  const nonce = randomBytes(32).toString('base64url')
  const address = `${url}${runProofPath}?${new URLSearchParams({ nonce })}`
  const answer = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(patienceMs) })
    .then(response => response.text())
    .catch(() => '')
  const { proof } = (parseIfJson(answer) ?? {}) as { readonly proof?: unknown }
  return proof === proveRun(secret, { nonce, url })
}

export const runProofPath = '/operator/proof'
