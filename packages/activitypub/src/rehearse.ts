// Tests an agent's inbox with one valid and one forged request.
import type { GuardedFetch, System } from '@postern/message'
import { randomHex, Unavailable, Undeliverable } from '@postern/message'
import type { Rehearsal, RehearsalWays, RehearsedCall } from '@postern/pipeline'
import { signRequest } from './deliver.ts'
import { activityJson } from './format/media-types.ts'
import { agentIris } from './format/own-iris.ts'
import { activityStreams } from './format/vocabulary.ts'
import type { KeyRing } from './keys/key-generations.ts'

interface RehearseDeps {
  readonly keys: Pick<KeyRing, 'find'>
  readonly origin: string
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

type Headers = Readonly<Record<string, string>>

/** Posts an activity that has no effect here (`View`) to an agent's inbox twice: signed by the agent's own key, and with an invalid signature. */
export async function rehearseInbox(agent: string, ways: RehearsalWays, deps: RehearseDeps): Promise<Rehearsal> {
  const { keys, origin, system } = deps
  const { actor, inbox } = agentIris(origin, agent)
  const id = `${actor}#rehearsal-${randomHex(system, 8)}`
  const activity = { '@context': activityStreams, id, type: 'View', actor, object: actor, to: [actor] }
  const bytes = Buffer.from(JSON.stringify(activity))
  const { request } = await keys.find(actor)
  const body = { bytes, type: activityJson }
  const headers = await signRequest({ method: 'POST', url: inbox, now: system.now(), body }, request)
  const post = (fetch: GuardedFetch, sent: Headers, isRight: (status: number) => boolean) =>
    postOnce(() => fetch(inbox, { method: 'POST', headers: sent, body: bytes, timeoutMs: 8_000 }), isRight)
  const [proven, forged] = await Promise.all([
    post(ways.proven, headers, status => status >= 200 && status < 300),
    post(ways.forged, spoilSignature(headers), status => status === 401),
  ])
  return { endpoint: inbox, proven, forged }
}

async function postOnce(
  send: () => ReturnType<GuardedFetch>,
  isRight: (status: number) => boolean,
): Promise<RehearsedCall> {
  try {
    const { status } = await send()
    return { isRight: isRight(status), answer: `it answers ${status}` }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable) return { isRight: false, answer: error.message }
    throw error
  }
}

/** Makes the signature invalid, but keeps it well-formed and of the right length. */
function spoilSignature(headers: Headers): Headers {
  const signature = headers.signature?.replace(
    /signature="(.)/,
    (_, first) => `signature="${first === 'A' ? 'B' : 'A'}`,
  )
  return { ...headers, ...(signature !== undefined && { signature }) }
}
