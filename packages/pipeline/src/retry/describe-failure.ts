// Describes the failure of a delivery for the operator.

import { Unavailable, Undeliverable } from '@postern/message'

/** Returns a sentence for the operator. Only `Unavailable` and `Undeliverable` have such a sentence; any other error is a bug, and its text appears only in the log. */
export function describeFailure(error: unknown): string {
  const hasOperatorMessage = error instanceof Unavailable || error instanceof Undeliverable
  if (!hasOperatorMessage) return 'internal error, see the log'
  const code = findSystemCode(error.cause)
  return code === undefined ? error.message : `${error.message}: ${code}`
}

/** Matches the codes of the network, DNS and TLS. Codes of other libraries say less than their messages. */
const systemCodePattern =
  /^(?:ECONN|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_TLS_)[A-Z_]{0,40}$/

/** Finds the system's error code, such as `ECONNREFUSED`. Peers never see it, so that nobody can scan ports through us. */
function findSystemCode(cause: unknown): string | undefined {
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' && systemCodePattern.test(code) ? code : undefined
}
