// Tests an agent's inbox with one valid and one forged request.
import type { GuardedFetch, System } from '@postern/message'
import { randomHex, Unavailable, Undeliverable } from '@postern/message'
import type { SelfTestCall, SelfTestFetches, SelfTestResult } from '@postern/pipeline'
import { activityJson } from './format/media-types.ts'
import { agentIris } from './format/own-iris.ts'
import { activityStreams } from './format/vocabulary.ts'
import type { KeyRing } from './keys/key-generations.ts'
import { signCavageRequest } from './keys/sign-cavage.ts'

interface SelfTestDeps {
  readonly keys: Pick<KeyRing, 'find'>
  readonly origin: string
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

type Headers = Readonly<Record<string, string>>

/** Posts an activity that has no effect here (`View`) to an agent's inbox twice: signed by the agent's own key, and with an invalid signature. */
export async function selfTestInbox(
  agent: string,
  fetches: SelfTestFetches,
  deps: SelfTestDeps,
): Promise<SelfTestResult> {
  const { keys, origin, system } = deps
  const { actor, inbox } = agentIris(origin, agent)
  const id = `${actor}#rehearsal-${randomHex(system, 8)}`
  const activity = { '@context': activityStreams, id, type: 'View', actor, object: actor, to: [actor] }
  const bytes = Buffer.from(JSON.stringify(activity))
  const { requestKey } = await keys.find(actor)
  const body = { bytes, type: activityJson }
  const headers = await signCavageRequest({ method: 'POST', url: inbox, now: system.now(), body }, requestKey)
  const post = (fetch: GuardedFetch, requestHeaders: Headers, isExpected: (status: number) => boolean) =>
    runCall(() => fetch(inbox, { method: 'POST', headers: requestHeaders, body: bytes, timeoutMs: 8_000 }), isExpected)
  const [proven, forged] = await Promise.all([
    post(fetches.proven, headers, status => status >= 200 && status < 300),
    post(fetches.forged, corruptSignature(headers), status => status === 401),
  ])
  return { endpoint: inbox, proven, forged }
}

async function runCall(
  send: () => ReturnType<GuardedFetch>,
  isExpected: (status: number) => boolean,
): Promise<SelfTestCall> {
  try {
    const { status } = await send()
    return { isExpected: isExpected(status), answer: `it answers ${status}` }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable)
      return { isExpected: false, answer: error.message }
    throw error
  }
}

/** Makes the signature invalid, but keeps it well-formed and of the right length. */
function corruptSignature(headers: Headers): Headers {
  const signature = headers.signature?.replace(
    /signature="(.)/,
    (_, firstCharacter) => `signature="${firstCharacter === 'A' ? 'B' : 'A'}`,
  )
  return { ...headers, ...(signature !== undefined && { signature }) }
}
