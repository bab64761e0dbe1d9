import type { GuardedFetch } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok } from '../../checks/finding.ts'

interface HandlePlace {
  /** `echo` */
  readonly agent: string
  readonly handleHost: string
  readonly origin: string
}

const accept = 'application/jrd+json, application/json'

/** Whether the domain of the handles leads to the gateway, as every server asks there first. */
export async function checkHandleHost(
  { agent, handleHost, origin }: HandlePlace,
  fetch: GuardedFetch,
): Promise<Verdict> {
  const account = `acct:${agent}@${handleHost}`
  const url = `https://${handleHost}/.well-known/webfinger?resource=${encodeURIComponent(account)}`
  const path = '/.well-known/webfinger'
  const fix =
    origin === `https://${handleHost}`
      ? `Let the proxy in front pass ${path} of ${handleHost} on to the gateway.`
      : `Let https://${handleHost}${path} redirect (302, with the query) to ${origin}${path}.`
  try {
    const { status, body } = await fetch(url, { headers: { accept }, redirects: 1, timeoutMs: 10_000 })
    if (status !== 200) return failure(`WebFinger at ${handleHost} answers ${status} for ${account}`, fix)
    return readSubject(body) === account
      ? ok(`WebFinger at ${handleHost} knows ${account}`)
      : failure(`WebFinger at ${handleHost} answers something else for ${account}`, fix)
  } catch (error) {
    return failure(`WebFinger at ${handleHost} does not answer: ${error instanceof Error ? error.message : error}`, fix)
  }
}

function readSubject(body: Uint8Array): unknown {
  try {
    return (parseJsonText(Buffer.from(body).toString()) as { subject?: unknown } | null)?.subject
  } catch {
    return undefined
  }
}
