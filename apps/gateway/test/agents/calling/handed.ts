// Reports the caller, and the sender on whose behalf it calls.
import type { NormalizedMessage } from '@postern/message'

export function handle({ sender, called_by, on_behalf_of }: NormalizedMessage): string {
  const { address, verified, identities = [] } = on_behalf_of ?? {}
  const handedContext = {
    by: called_by?.agent,
    message: called_by?.message,
    for: address,
    verified,
    proofs: identities.length,
  }
  return JSON.stringify({ sender: sender.address, ...handedContext })
}
