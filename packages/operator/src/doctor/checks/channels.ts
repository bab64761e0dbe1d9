// Checks that channels accept proven calls at the public address, and reject forged ones.
import type { ChannelName, FetchAnswer } from '@postern/message'
import { findChannel } from '@postern/pipeline'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Check } from '../check.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'

const timeoutMs = 20_000

/** The checks of channels. `mail.loop` is the same check for mail. */
export const channelChecks: readonly Check[] = [
  {
    id: 'channels.inbox',
    description:
      'An activity of our own agent reaches its inbox by the public address, and the gateway refuses a forged one. The test has no effect.',
    fix: 'Let the proxy pass body, `Signature`, `Digest`, `Date` and `Host` on as they are.',
    needs: ['gateway', 'peers'],
    timeoutMs,
    run: deps => checkRehearsal(deps, 'activitypub'),
  },
  {
    id: 'channels.calls',
    description:
      'A call (`GetTask`) with our token gets an answer at the public address, and a forged one does not. The test call has no effect.',
    fix: 'Let the proxy pass body and `Authorization` on as they are.',
    needs: ['gateway', 'peers'],
    timeoutMs,
    run: deps => checkRehearsal(deps, 'a2a'),
  },
  {
    id: 'channels.chat_origins',
    description: 'Pages of `web.origins` may call the chat (CORS), and pages of other origins may not.',
    fix: 'Let the proxy leave `Access-Control-…` fields to the gateway.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkChatOrigins,
  },
  {
    id: 'channels.chat_access',
    description: 'Where the chat is on, there are issuers or tokens that let people in.',
    fix: 'Name issuers or tokens in `web.auth`, or set `web.enabled` to false.',
    run: checkChatAccess,
  },
]

const strangeOrigin = 'https://stranger.invalid'
const chatOffReason = 'the chat is off (web.enabled)'

/** Checks that browsers let only pages of the allowed origins call the chat (Fetch standard, CORS protocol). */
async function checkChatOrigins(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const { enabled, origins } = deps.config.web
  if (!enabled) return [skip('web.origins', chatOffReason)]
  if (origins.length === 0) return [skip('web.origins', 'no pages of other origins may call (web.origins)')]
  return Promise.all([...origins, strangeOrigin].map(origin => checkOrigin(origin, deps)))
}

async function checkOrigin(origin: string, deps: DoctorDeps): Promise<CheckOutcome> {
  const isStrange = origin === strangeOrigin
  const fix = 'Let the proxy leave Access-Control-… fields to the gateway, and pass OPTIONS on.'
  try {
    const allowedOrigin = (await requestFromOrigin(origin, deps)).headers.get('access-control-allow-origin')
    if (isStrange) {
      return allowedOrigin === null
        ? outcomeFor(origin, ok('pages of other origins may not call'))
        : outcomeFor(origin, failure(`pages of any origin may call (${allowedOrigin})`, fix))
    }
    return allowedOrigin === origin
      ? outcomeFor(origin, ok(`pages of ${origin} may call`))
      : outcomeFor(origin, failure(`browsers do not let pages of ${origin} call`, fix))
  } catch (error) {
    return outcomeFor(origin, failure(`the chat does not answer: ${describeError(error)}`, fix))
  }
}

function requestFromOrigin(origin: string, deps: DoctorDeps): Promise<FetchAnswer> {
  const url = `${deps.config.origin}/api/v1/agent/runs`
  return requireOpened(deps).openResolveSystem().fetch(url, { headers: { origin }, timeoutMs: 8_000 })
}

/** Checks that somebody may use the chat. */
function checkChatAccess({ config }: DoctorDeps): CheckOutcome {
  const { enabled, auth } = config.web
  const subject = 'web.auth'
  if (!enabled) return skip(subject, chatOffReason)
  const count = auth.issuers.length + auth.tokens.length
  return count > 0 || config.dev
    ? outcomeFor(
        subject,
        ok(count > 0 ? 'there are issuers or tokens that let people chat' : 'dev mode: the operator may chat'),
      )
    : outcomeFor(subject, warning('the chat is on, and nobody may use it', 'Name issuers or tokens in web.auth.'))
}

/** Calls the default agent at its public address as a peer does, once with a valid and once with a forged proof. The calls have no effect. */
async function checkRehearsal(deps: DoctorDeps, via: ChannelName): Promise<CheckOutcome> {
  const { channels, agents, rehearsals, openResolveSystem } = requireOpened(deps)
  const agent = agents.defaultAgent ?? agents.list()[0]?.name
  const channel = findChannel(channels, via)
  if (agent === undefined || !channel?.diagnostics?.selfTest) return skip('', 'no agent can be called by this channel')
  const { fetch } = openResolveSystem()
  const fetches = { proven: rehearsals.withPass(fetch, 'taken'), forged: rehearsals.withPass(fetch, 'refused') }
  const { endpoint, proven, forged } = await channel.diagnostics.selfTest(agent, fetches)
  const fix = `Let the proxy pass the body and all header fields of ${endpoint} on as they are; then see "postern refusals".`
  if (!proven.isExpected)
    return outcomeFor(endpoint, failure(`the gateway refuses its own test call: ${proven.answer}`, fix))
  return forged.isExpected
    ? outcomeFor(endpoint, ok('the gateway took its own test call, and refused the same call with a forged proof'))
    : outcomeFor(endpoint, failure(`the gateway does not refuse a call with a forged proof: ${forged.answer}`, fix))
}
