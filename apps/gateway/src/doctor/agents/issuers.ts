import { parseJsonText } from '@postern/core'
import { inspectIssuer } from '@postern/identity'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'

/** Third parties whose word about senders counts (`identity.trusted_issuers`). */
export async function checkTrustedIssuers({ config, outside, now }: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const issuers = [...new Set(config.identity.trusted_issuers.map(({ issuer }) => issuer))]
  if (issuers.length === 0) return [skip('identity.trusted_issuers', 'no issuer is trusted')]
  return Promise.all(
    issuers.map(async issuer => {
      const problem = await inspectIssuer(issuer, { fetch: outside.fetch, now })
      const fix = 'Until then its evidence is left out: see docs/explanation/identity/evidence.md.'
      return about(issuer, problem === undefined ? ok(`the keys of ${issuer} can be read`) : warning(problem, fix))
    }),
  )
}

/** Issuers of the tokens that let callers and people in. */
export async function checkTokenIssuers({ config, outside }: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const issuers = [...config.a2a.auth.issuers, ...config.web.auth.issuers]
  const urls = [...new Set(issuers.flatMap(({ jwks }) => (jwks === undefined ? [] : [jwks])))]
  if (urls.length === 0) return [skip('auth.issuers', 'no issuer has a key set')]
  return Promise.all(urls.map(async url => about(url, await judgeKeySetUrl(url, outside))))
}

async function judgeKeySetUrl(url: string, { fetch }: DoctorDeps['outside']): Promise<Verdict> {
  const fix = 'Correct "jwks" of the issuer, or bring it back: until then nobody with its tokens is let in.'
  try {
    const { status, body } = await fetch(url, { timeoutMs: 8_000, redirects: 1 })
    if (status !== 200) return failure(`the key set ${url} answers ${status}`, fix)
    const { keys } = parseJsonText(Buffer.from(body).toString()) as { readonly keys?: unknown }
    return Array.isArray(keys) && keys.length > 0
      ? ok(`the key set ${url} has ${keys.length} keys`)
      : failure(`the key set ${url} has no keys`, fix)
  } catch (error) {
    return failure(`the key set ${url} cannot be read: ${describeError(error)}`, fix)
  }
}
