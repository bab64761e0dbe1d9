import type { FetchAnswer } from '@postern/core'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

const strangeOrigin = 'https://stranger.invalid'
const notEnabled = 'the chat is off (web.enabled)'

/** Whether browsers let pages of the allowed origins call, and others not (Fetch standard, CORS protocol). */
export async function checkChatOrigins(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const { enabled, origins } = deps.config.web
  if (!enabled) return [skip('web.origins', notEnabled)]
  if (origins.length === 0) return [skip('web.origins', 'no pages of other origins may call (web.origins)')]
  return Promise.all([...origins, strangeOrigin].map(origin => checkOrigin(origin, deps)))
}

async function checkOrigin(origin: string, deps: DoctorDeps): Promise<CheckOutcome> {
  const isStrange = origin === strangeOrigin
  const fix = 'Let the proxy leave Access-Control-… fields to the gateway, and pass OPTIONS on.'
  try {
    const allowed = (await askAs(origin, deps)).headers.get('access-control-allow-origin')
    if (isStrange) {
      return allowed === null
        ? about(origin, ok('pages of other origins may not call'))
        : about(origin, failure(`pages of any origin may call (${allowed})`, fix))
    }
    return allowed === origin
      ? about(origin, ok(`pages of ${origin} may call`))
      : about(origin, failure(`browsers do not let pages of ${origin} call`, fix))
  } catch (error) {
    return about(origin, failure(`the chat does not answer: ${describeError(error)}`, fix))
  }
}

function askAs(origin: string, deps: DoctorDeps): Promise<FetchAnswer> {
  const url = `${deps.config.origin}/api/v1/agent/runs`
  return requireOpened(deps).openResolvePlatform().fetch(url, { headers: { origin }, timeoutMs: 8_000 })
}

/** Whether anybody can chat at all. */
export function checkChatAccess({ config }: DoctorDeps): CheckOutcome {
  const { enabled, auth } = config.web
  const subject = 'web.auth'
  if (!enabled) return skip(subject, notEnabled)
  const count = auth.issuers.length + auth.tokens.length
  return count > 0 || config.dev
    ? about(
        subject,
        ok(count > 0 ? 'there are issuers or tokens that let people chat' : 'dev mode: the operator may chat'),
      )
    : about(subject, warning('the chat is on, and nobody may use it', 'Name issuers or tokens in web.auth.'))
}
