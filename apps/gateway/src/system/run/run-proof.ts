// Proves to a command that the program at a port wrote the run file, before the command sends a token there.
import { createHmac, randomBytes } from 'node:crypto'
import { parseIfJson } from '@postern/message'

/** The secret of this process. Only the process and the readers of its data folder know it. */
export const ownRunSecret: string = randomBytes(32).toString('base64url')

export const runProofPath = '/operator/proof'

interface RunChallenge {
  /** A random value that the command has chosen, 32 bytes in base64url. */
  readonly nonce: string
  /** The address in the run file, so that another gateway cannot answer the challenge. */
  readonly url: string
}

/** Returns the one correct answer to a challenge. */
export function proveRun(secret: string, { nonce, url }: RunChallenge): string {
  return createHmac('sha256', secret).update(`${nonce} ${url}`).digest('base64url')
}

/** The longest wait for the proof, ms. A gateway under load is slow, and a command must not treat it as stopped. */
const proofTimeoutMs = 10_000

/** Requests the proof of the program at an address. Returns false if the program has no proof, or does not answer in time. */
export async function verifyRun({ url, secret }: { readonly url: string; readonly secret: string }): Promise<boolean> {
  const nonce = randomBytes(32).toString('base64url')
  const proofUrl = `${url}${runProofPath}?${new URLSearchParams({ nonce })}`
  const proofText = await fetch(proofUrl, { redirect: 'manual', signal: AbortSignal.timeout(proofTimeoutMs) })
    .then(response => response.text())
    .catch(() => '')
  const { proof } = (parseIfJson(proofText) ?? {}) as { readonly proof?: unknown }
  return proof === proveRun(secret, { nonce, url })
}
